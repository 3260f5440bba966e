"""The results of `photographs.py` as tables of Markdown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TITLES = {
    "caltech101": "Caltech-101, 30 per class",
    "scene15": "Scene 15, 100 per class",
    "tiny200": "Tiny-ImageNet, 100 per class (part of what the networks were trained on)",
    "characters": "100 drawn characters, 15 per class",
    "omniglot": "100 characters of Omniglot as images, 15 per class",
}
MARKS = "<!-- photographs: written by a command -->", "<!-- end of photographs -->"
FOLDS = 5
"""Folds by which weights of colour are compared."""
CANDIDATES = ("candidate network", "candidate Fisher vectors", "candidate both")
SHOWN = {
    "sgd": "`efficientnet-lite0`, `LinearSGD()`",
    "sgd of fc6c517": "`efficientnet-lite0`, `LinearSGD()` of commit fc6c517",
    "lite2": "`efficientnet-lite2`, automatic classifier",
    "auto": "`--signature auto`, automatic classifier",
    "fisher-earlier": "Fisher vectors, earlier defaults, SVM",
    "fisher-plain": "Fisher vectors, `--no-coordinates`, SVM",
    "fisher": "Fisher vectors, SVM",
    "fisher-pq": "the same, trained on product codes of a 32nd of the size",
    "fisher-contrast": "the same, `--contrast 0.001`",
    "fisher-step": "the same, `--step 4`",
    "fisher-strong": "the same, `--regions 8`",
    "colour": "Fisher vectors of colour alone, SVM",
    "late-colour": "`fisher+0.5*fisher:colour`, SVM",
}
BASES = {"fisher": "fisher-earlier", "auto": "sgd of fc6c517", "lite2": "sgd"}
BASE = "fisher"


def summarise(values: list[float]) -> str:
    """Return a mean and a standard deviation, with the number of splits if it is not five."""
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}{count_splits(len(values))}"


def count_splits(n: int) -> str:
    """Return the number of splits in brackets if it is not five."""
    return "" if n == 5 else f" ({n} split{'s' * (n > 1)})"


def make_table(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    cells, lines = results["cells"], []
    for problem, title in TITLES.items():
        known = cells.get(problem, {})
        rows = [name for name in SHOWN if name in known]
        if not rows:
            continue
        lines += ["", f"| {title} | accuracy in % | paired difference |", "|---|---|---|"]
        for name in rows:
            base = BASES.get(name, BASE if name not in ("sgd", "sgd of fc6c517") else "")
            pairs = [
                known[name][s]["accuracy"] - known[base][s]["accuracy"]
                for s in known[name]
                if s in known.get(base, {}) and base != name
            ]
            against = f"{summarise(pairs).replace('-', '−')} against {SHOWN[base]}" if pairs else ""
            if pairs and np.mean(pairs) > 0:
                against = f"+{against}"
            accuracies = [cell["accuracy"] for cell in known[name].values()]
            lines.append(f"| {SHOWN[name]} | {summarise(accuracies)} | {against} |")
    lines += list_choices(cells)
    for problem, found in results.get("weights of colour", {}).items():
        listed = ", ".join(f"{accuracy:.1f} ({weight})" for weight, accuracy in found.items())
        lines += [
            "",
            f"{TITLES[problem]}: accuracy of `fisher+W*fisher:colour` in {FOLDS} folds of the",
            f"training images of the first split, by the weight W: {listed}.",
        ]
    about = f"{results['date'][:10]}, {results['machine']}."
    return "\n".join([about, *lines])


def list_choices(cells: dict[str, Any]) -> list[str]:
    """Return a table of what ``--signature auto`` loses to the best candidate, and its cost."""
    lines, losses = [], []
    for problem, title in TITLES.items():
        known = cells.get(problem, {})
        if "auto" not in known or not all(name in known for name in CANDIDATES):
            continue
        splits = [s for s in known["auto"] if all(s in known[name] for name in CANDIDATES)]
        means = {
            name: float(np.mean([known[name][s]["accuracy"] for s in splits]))
            for name in ("auto", *CANDIDATES)
        }
        losses.append(max(means.values()) - means["auto"])
        runs = [known["auto"][s] for s in splits if "seconds of all" in known["auto"][s]]
        share = [100 * one["seconds of the choice"] / one["seconds of all"] for one in runs]
        cost = f"{np.mean(share):.0f} %" if share else ""
        shown = " | ".join(f"{mean:.1f}" for mean in means.values())
        name = f"{title.split(' (')[0]}{count_splits(len(splits))}"
        lines.append(f"| {name} | {shown} | {losses[-1]:.1f} | {cost} |")
    if not lines:
        return []
    head = " | ".join(["auto", *(name.removeprefix("candidate ") for name in CANDIDATES)])
    return [
        "",
        f"| `--signature auto` | {head} | loss | time of the choice |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"Mean loss: {np.mean(losses):.2f} points, of {len(losses)} of {len(TITLES)} data sets.",
        "The time of the choice is processor time, in percent of choosing, describing the training",
        "images and training.",
    ]


def publish(out: Path, page: Path, make: Callable[..., str], marks: tuple[str, str]) -> None:
    """Print the table of a file of results, or write it between the two comments of a page."""
    table = make(json.loads(out.read_text(encoding="utf-8")))
    if page == Path():
        print(table)
        return
    before, rest = page.read_text(encoding="utf-8").split(marks[0])
    after = rest.split(marks[1])[1]
    page.write_text(f"{before}{marks[0]}\n\n{table}\n\n{marks[1]}{after}", encoding="utf-8")
