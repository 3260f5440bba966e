"""The comparison on the README and on docs/speed.md, derived from measurements.

``python -m tests.docs.refresh --options`` writes the tables, ``python -m tests.docs.pictures
speed`` draws the plot. The measurements are those of ``recipes/automatic.py``.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

README, SPEED = ROOT / "README.md", ROOT / "docs" / "speed.md"
RESULTS = ROOT / "benchmarks" / "results" / "automatic.json"
TRAINERS = {
    "auto": "**myriad**, `LinearClassifier()`",
    "auto quick": '**myriad**, `search="quick"`',
    "logistic cv": "scikit-learn `LogisticRegressionCV`",
    "svc normalised": "scikit-learn `LinearSVC` (LIBLINEAR)",
    "sgdclassifier": "scikit-learn `SGDClassifier`",
    "adamw normalised": "PyTorch, AdamW",
    "napkinxc": "napkinXC, one-vs-rest",
    "napkinxc tree": "napkinXC, tree of labels",
    "wabbit": "Vowpal Wabbit",
}
PROBLEMS = {
    "scene15 network": "Scene 15",
    "caltech101 network": "Caltech-101",
    "tiny200 network": "Tiny-ImageNet",
    "omniglot": "Omniglot",
    "glyphs": "characters",
    "many": "drawn",
}
DRAWN = tuple(PROBLEMS)[:3]
"""Problems of the plot."""
SPAN = 4.0
"""Points of accuracy on the axis of each: small differences look small."""
PAGES = {README: tuple(PROBLEMS)[:4], SPEED: tuple(PROBLEMS)}
_TABLE = re.compile(
    r"(<!-- comparison: written by a command -->\n).*?(<!-- end of comparison -->)", re.DOTALL
)


def read_problems() -> dict[str, Any]:
    """Return the measurements by problem."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["problems"]
    return found


def average(values: Iterable[float]) -> float:
    """Return the mean."""
    known = list(values)
    return sum(known) / len(known)


def show_seconds(seconds: float) -> str:
    """Return a time with two digits or more."""
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def make_table(names: Iterable[str]) -> str:
    """Return a table with a column for each problem: accuracy and time of every trainer."""
    problems = {name: read_problems()[name] for name in names if name in read_problems()}
    titles = [
        f"{PROBLEMS[name]}: {one['rows']:,} rows, {one['classes']:,} classes"
        for name, one in problems.items()
    ]
    lines = [f"| trainer | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for key, trainer in TRAINERS.items():
        cells = []
        for one in problems.values():
            found = one["rivals"].get(key)
            if found is None:
                cells.append("")
                continue
            accuracy, seconds = average(found["test"]), average(found["seconds"])
            cells.append(f"{accuracy:.1f} %, {show_seconds(seconds)}")
        if any(cells):
            lines.append(f"| {trainer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fill_table(text: str, names: Iterable[str]) -> str:
    """Return the text of a page with the table written anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{make_table(names)}\n\n{found[2]}", text)


def fill_pages() -> None:
    """Write the table of each page anew."""
    for page, names in PAGES.items():
        page.write_text(fill_table(page.read_text(encoding="utf-8"), names), encoding="utf-8")


def draw_speed(path: Path) -> None:
    """Draw accuracy against time on the embeddings of three collections of photographs."""
    import matplotlib.pyplot as plt
    import numpy as np

    fig, axes = plt.subplots(1, len(DRAWN), figsize=(9.6, 3.4), layout="constrained")
    for name, ax in zip(DRAWN, axes, strict=True):
        points = []
        for number, (key, trainer) in enumerate(TRAINERS.items()):
            found = read_problems()[name]["rivals"].get(key)
            if found is None:
                continue
            points.append((average(found["seconds"]), average(found["test"])))
            ours = key.startswith("auto")
            label = re.sub(r"[*`]", "", trainer).replace("scikit-learn ", "")
            ax.scatter(
                *points[-1],
                color=f"C{number}",
                marker="o" if ours else "s",
                s=50 if ours else 32,
                label=label,
                zorder=3,
            )
        seconds, accuracies = np.transpose(points)
        middle = (accuracies.min() + accuracies.max()) / 2
        ax.set(
            xscale="log",
            xlim=(seconds.min() / 2, 2 * seconds.max()),
            ylim=(middle - SPAN / 2, middle + SPAN / 2),
            title=PROBLEMS[name],
            xlabel="seconds, one thread",
        )
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.grid(alpha=0.3)
    axes[0].set(ylabel="mean class accuracy, %")
    handles, labels = max(
        (ax.get_legend_handles_labels() for ax in axes), key=lambda two: len(two[1])
    )
    fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    fig.savefig(path, dpi=96)
    plt.close(fig)
