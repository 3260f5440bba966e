"""The comparison on the README, derived from ``benchmarks/results/peers.json``.

``python -m tests.docs.refresh --options`` writes the table, ``python -m tests.docs.pictures speed``
draws the plot.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "peers.json"
SHOWN = {
    "sgdclassifier": ("scikit-learn SGDClassifier", "ovr, beta = all"),
    "linearsvc ovr": ("scikit-learn LinearSVC", "ovr"),
    "adamw": ("PyTorch, AdamW, best of a grid", "softmax"),
    "liblinear crammer_singer": ("LIBLINEAR, Crammer-Singer", "multiclass, averaged"),
    "wabbit": ("Vowpal Wabbit", "ovr"),
    "cyanure": ("cyanure, multinomial", "softmax"),
}
"""For some peers, a name and the objective of ours that is nearest to theirs."""
_TABLE = re.compile(
    r"(<!-- comparison: written by a command -->\n).*?(<!-- end of comparison -->)", re.DOTALL
)


def read_results() -> dict[str, Any]:
    """Return the measurements by peer."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def make_table() -> str:
    """Return the table: what a peer reached and how long it took, and the same of ours."""
    lines = [
        "| trainer | rows x classes | its top-1 | its time | our top-1 | our time, with search |",
        "|---|---|---|---|---|---|",
    ]
    for key, (name, objective) in SHOWN.items():
        found = read_results()[key]
        n, _, c = re.findall(r"\d+", found["problem"])
        peer, ours = found["peer"], found["ours"][objective]
        theirs = f"{peer['top1']:.1f} % | {peer['seconds_to_target']:.1f} s"
        searched = f"{ours['top1_with_search']:.1f} %"
        time = f"{ours['seconds_to_the_end_with_search']:.1f} s"
        lines.append(f"| {name} | {int(n):,} x {c} | {theirs} | {searched} | {time} |")
    return "\n".join(lines)


def fill_table(text: str) -> str:
    """Return the text of the README with the table written anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{make_table()}\n\n{found[2]}", text)


def draw_speed(path: Path) -> None:
    """Draw accuracy against time on 40,000 rows of 500 classes, ours and theirs."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7.2, 3.9), layout="constrained")
    for key, name in {
        "sgdclassifier": "scikit-learn SGDClassifier",
        "sgd": "PyTorch SGD",
        "adamw": "PyTorch AdamW",
    }.items():
        peer = read_results()[key]["peer"]
        ax.scatter(peer["seconds_to_target"], peer["top1"], color="0.45", marker="s", zorder=3)
        place = {"xytext": (7, -4), "textcoords": "offset points"}
        ax.annotate(name, (peer["seconds_to_target"], peer["top1"]), color="0.3", **place)
    ours = {
        "one-vs-rest, 64 negatives": ("sgdclassifier", "ovr, beta = 64"),
        "one-vs-rest, all negatives": ("sgdclassifier", "ovr, beta = all"),
        "softmax": ("adamw", "softmax"),
    }
    for name, (key, objective) in ours.items():
        found = read_results()[key]["ours"][objective]
        start = found["seconds_to_target_with_search"] - found["seconds_to_target"]
        epochs = range(1, len(found["top1_by_epoch"]) + 1)
        times = [start + found["epoch_seconds"] * epoch for epoch in epochs]
        ax.plot(times, found["top1_by_epoch"], marker="o", markersize=3, label=f"myriad: {name}")
    ax.set(xscale="log", xlabel="seconds on one thread, ours with the search for settings")
    ax.set(ylabel="top-1 on validation rows, %", xlim=(1.5, 900), ylim=(35, 100))
    ax.legend(loc="lower left")
    ax.grid(alpha=0.3)
    fig.savefig(path, dpi=96)
    plt.close(fig)
