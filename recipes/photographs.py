"""Photographs on fresh random splits: Fisher vectors, networks, and what `train` chooses itself.

Command:   python recipes/photographs.py --data DATA --work runs/photographs
           [--problems caltech101,scene15,tiny200] [--arms sgd,auto] [--splits 5]
           [--out benchmarks/results/photographs.json] [--table docs/recipes.md]
Time:      two cores: networks 5 minutes a data set, Fisher vectors 5 to 10 minutes a setting, then
           10 to 60 s for each arm and split
Expected:  see docs/recipes.md; Caltech-101, mean class accuracy in %: Fisher vectors 72 to 75,
           network with `LinearSGD()` 91 to 92, `--signature auto` 93.5

DATA is a folder with caltech101.zip, scene15 and tiny200.zip. Training and test images are pooled;
of each class 30 (Caltech-101) or 100 (the others) are drawn for training, the rest is for testing.
Images are described once and kept in the folder of --work. Differences between arms are paired: the
same split, the same test images. Results go into a JSON file, from which an interrupted run
resumes. --quick draws characters instead, for a test of the recipe itself. --weights compares
weights of colour by cross-validation inside the training images of the first split; no test image
is used.

Old versions: set PYTHONPATH to the src of their work tree and give --arms sgd --label " of fc6c517"
after the rows have been described.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from photograph_rows import DATA
from results import need

from myriad.signatures.registry import FISHER, NETWORK, split_word

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "photographs.json"
TITLES = {
    "caltech101": "Caltech-101, 30 a class",
    "scene15": "Scene 15, 100 a class",
    "tiny200": "Tiny-ImageNet, 100 a class (part of what the networks were trained on)",
    "characters": "100 drawn characters, 15 a class",
    "omniglot": "100 characters of Omniglot as images, 15 a class",
}
MARKS = "<!-- photographs: written by a command -->", "<!-- end of photographs -->"
ROWS_OF = {
    "efficientnet-lite0": "lite0",
    "efficientnet-lite2": "lite2",
    "fisher:colour": "colour",
}
"""Signatures whose rows have another name in `photograph_rows`."""
FOLDS = 5
COLOUR_WEIGHTS = (0.0, 0.25, 0.35, 0.5, 0.7, 1.0)
COLOUR_WEIGHT = 0.5


def mean_class_accuracy(y: np.ndarray, guesses: np.ndarray) -> float:
    """Return the mean of the accuracies of the classes, in percent."""
    sizes = np.bincount(y)
    right = np.bincount(y[guesses == y], minlength=len(sizes))
    return 100.0 * float((right[sizes > 0] / sizes[sizes > 0]).mean())


def fit_svm(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return the exact one-vs-rest SVM with C = 10, that of the comparisons with VLFeat."""
    from exact_svm import ExactSVM

    return ExactSVM(X, y)


def fit_sgd(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return plain `LinearSGD()`."""
    from myriad import LinearSGD

    return LinearSGD(random_state=seed).fit(X, y)


def fit_automatic(X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Return the automatic classifier."""
    from myriad import LinearClassifier

    return LinearClassifier(random_state=seed).fit(X, y)


def choose(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Return what ``--signature auto`` chooses on the training images of a split."""
    from photograph_rows import with_splits

    from myriad.images import split_images
    from myriad.parallel import LearningContext, open_local
    from myriad.pipelines.row_options import ExtractOptions
    from myriad.pipelines.signature_choice import choose_signature

    images = split_images(with_splits(rows.images, training).select(training), seed=seed)
    with open_local() as executor:
        context = LearningContext(seed=seed)
        choice = choose_signature(images, ExtractOptions(), executor, context)
    return {"signature": choice.options.signature, "choice": choice.facts["sentence"]}


def load_word(rows: Any, word: str) -> np.ndarray:
    """Return the rows of one or several signatures by the word of ``--signature``."""
    from photograph_rows import combine

    terms = split_word(word)
    return combine(
        [rows.load(name_of_term(term)) for term in terms], [weight for _, weight in terms]
    )


def name_of_term(term: tuple[str, float]) -> str:
    """Return the name that the rows of a part of ``--signature`` have here."""
    return ROWS_OF.get(term[0], term[0])


def run_automatic(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Choose the signature, train the automatic classifier, and test."""
    began = time.process_time()
    chosen = choose(rows, training, seed)
    seconds = time.process_time() - began
    found = test_candidate(rows, chosen["signature"], seed)
    images = rows.seconds(map(name_of_term, split_word(chosen["signature"])))
    whole = seconds + found["seconds"] + images * training.mean()
    chosen |= {"seconds of the choice": round(seconds, 1), "seconds of all": round(whole, 1)}
    return chosen | found


@cache
def test_candidate(rows: Any, word: str, seed: int) -> dict[str, Any]:
    """Test the automatic classifier on a signature; what was found is kept for other arms."""
    from photograph_rows import TRAINING_IMAGES, draw_split

    training = draw_split(rows.images.labels, TRAINING_IMAGES[rows.problem], seed)
    return test(load_word(rows, word), rows, training, seed, fit_automatic)


def test(
    X: np.ndarray, rows: Any, training: np.ndarray, seed: int, fit: Callable[..., Any]
) -> dict[str, Any]:
    """Train on the training rows; return the mean class accuracy of the others and the time."""
    y = rows.images.labels.astype(np.int64)
    began = time.process_time()
    model = fit(np.ascontiguousarray(X[training]), y[training], seed)
    seconds = time.process_time() - began
    guesses = model.predict(np.ascontiguousarray(X[~training]))
    found = {"accuracy": mean_class_accuracy(y[~training], guesses), "seconds": round(seconds, 1)}
    if fit is fit_automatic:
        found["settings"] = {k: model.settings_.get(k) for k in ("objective", "loss", "lam")}
    return found


Arm = Callable[[Any, np.ndarray, int], dict[str, Any]]


def arm(word: str, fit: Callable[..., Any]) -> Arm:
    """Return an arm that trains one classifier on the rows of one signature."""
    return lambda rows, training, seed: test(rows.load(word), rows, training, seed, fit)


def candidate(word: str) -> Arm:
    """Return an arm that describes by a stated candidate of ``--signature auto``."""
    return lambda rows, training, seed: test_candidate(rows, word, seed)


def train_on_codes(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Train on product codes of Fisher vectors; images are tested as `predict` describes them."""
    from exact_svm import solve

    coded, plain = rows.load("fisher-pq")
    y = rows.images.labels.astype(np.int64)
    weights = solve(coded[np.ix_(training, training)], y[training])
    scores = (plain[np.ix_(~training, training)] + np.float32(1)) @ weights.T
    return {"accuracy": mean_class_accuracy(y[~training], scores.argmax(axis=1))}


def late_colour(rows: Any, training: np.ndarray, seed: int) -> dict[str, Any]:
    """Run Fisher vectors of SIFT and of colour side by side."""
    from photograph_rows import combine

    X = combine([rows.load("fisher"), rows.load("colour")], [1.0, COLOUR_WEIGHT])
    return test(X, rows, training, seed, fit_svm)


ARMS: dict[str, Arm] = {
    "sgd": arm("lite0", fit_sgd),
    "auto": run_automatic,
    "candidate network": candidate(NETWORK),
    "candidate Fisher vectors": candidate(FISHER),
    "candidate both": candidate(f"{NETWORK}+{FISHER}"),
    "lite2": arm("lite2", fit_automatic),
    "fisher": arm("fisher", fit_svm),
    "fisher-earlier": arm("fisher-earlier", fit_svm),
    "fisher-plain": arm("fisher-plain", fit_svm),
    "fisher-pq": train_on_codes,
    "fisher-contrast": arm("fisher-contrast", fit_svm),
    "fisher-step": arm("fisher-step", fit_svm),
    "fisher-strong": arm("fisher-strong", fit_svm),
    "colour": arm("colour", fit_svm),
    "late-colour": late_colour,
}
CANDIDATES = tuple(name for name in ARMS if name.startswith("candidate"))
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


def weigh_colour(rows: Any, training: np.ndarray) -> dict[str, float]:
    """Return the cross-validated accuracy of each weight of colour, on training images alone."""
    from exact_svm import cross_validate
    from photograph_rows import combine

    y = rows.images.labels[training].astype(np.int64)
    sift, colour = rows.load("fisher")[training], rows.load("colour")[training]
    found = {}
    for weight in COLOUR_WEIGHTS:
        X = combine([sift, colour], [1.0, weight]) if weight else sift
        accuracy = 100 * float(cross_validate(X @ X.T, y, folds=FOLDS).mean())
        found[str(weight)] = round(accuracy, 2)
        print(f"{rows.problem}, colour {weight}: {accuracy:.2f} % in folds", flush=True)
    return found


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


def read_results(out: Path, components: int | None) -> dict[str, Any]:
    """Return the results of a file, or none yet."""
    if not out.exists():
        return {"components": components, "cells": {}}
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if found["components"] != components:
        raise SystemExit(f"{out} has results of {found['components']} Gaussians: give another file")
    return found


def save(out: Path, results: dict[str, Any]) -> None:
    """Write results so that an interruption loses nothing."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from record import describe_run

    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    found = results | describe_run()
    part.write_text(json.dumps(found, indent=1, default=float) + "\n", encoding="utf-8")
    part.replace(out)


def run(problem: str, arms: list[str], options: argparse.Namespace) -> None:
    """Run some arms on a data set, split by split, and write each result when it is known."""
    from photograph_rows import FEWER_GAUSSIANS, TRAINING_IMAGES, Rows, draw_split, load_images

    options.work.mkdir(parents=True, exist_ok=True)
    results = read_results(options.out, options.components)
    images = load_images(problem, options.data, options.work)
    components = options.components or FEWER_GAUSSIANS.get(problem)
    rows = Rows(problem, images, options.work, components)
    known = results["cells"].setdefault(problem, {})
    if options.weights:
        training = draw_split(images.labels, TRAINING_IMAGES[problem], 0)
        results.setdefault("weights of colour", {})[problem] = weigh_colour(rows, training)
        save(options.out, results)
        return
    for name in arms:
        cells = known.setdefault(name + options.label, {})
        for seed in range(options.splits):
            if str(seed) in cells:
                continue
            training = draw_split(images.labels, TRAINING_IMAGES[problem], seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cells[str(seed)] = ARMS[name](rows, training, seed)
            save(options.out, results)
            shown = cells[str(seed)]
            print(f"{problem}, {name}{options.label}, split {seed}: {shown}", flush=True)


def main() -> None:
    """Run what is asked for and is not in the file of results yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, default=Path("runs/photographs"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--problems", default="caltech101,scene15")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--components", type=int, help="Gaussians of all Fisher vectors")
    parser.add_argument("--label", default="", help="added to the names of arms")
    parser.add_argument("--weights", action="store_true", help="compare weights of colour")
    parser.add_argument("--quick", action="store_true", help="drawn characters")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    options = parser.parse_args()
    if options.table is not None:
        publish(options.out, options.table, make_table, MARKS)
        return
    if not options.quick:
        need(options.data, DATA)
    problems = ["glyphs"] if options.quick else options.problems.split(",")
    for problem in problems:
        run(problem, options.arms.split(","), options)


if __name__ == "__main__":
    main()
