"""The tables of `data_faults.py`, means over seeds in Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES = {"scene15": "Scene 15", "caltech101": "Caltech-101", "tiny200": "Tiny-ImageNet"}


def write_tables(cells: dict[str, Any]) -> dict[str, str]:
    """Return the results as tables of Markdown, means over seeds, by the names of their marks."""
    return {
        "copies": write_copy_table(cells),
        "wrong labels": write_label_table(cells),
        "memory": write_memory_table(cells),
    }


def collect(cells: dict[str, Any], problem: str, fault: str) -> list[dict[str, Any]]:
    """Return the results of all seeds."""
    return [cell for key, cell in cells.items() if key.startswith(f"{problem} {fault} ")]


def write_copy_table(cells: dict[str, Any]) -> str:
    """Return the recall of each kind of copy, and the false pairs per 1,000 images."""
    recalls = [cell["recall"] for cell in cells.values() if "recall" in cell]
    kinds = list(recalls[0]) if recalls else []
    header = ["", "images", *kinds, "false pairs per 1,000 images", "seeds"]
    lines = [header, ["---"] * len(header)]
    for problem, name in NAMES.items():
        found = collect(cells, problem, "copies")
        if not found:
            continue
        recall = [np.mean([one["recall"][kind] for one in found]) for kind in kinds]
        false = sum(one["false_pairs"] for one in found)
        images = sum(one["images"] for one in found)
        line = [name, f"{found[0]['images']:,}", *(f"{share:.3f}" for share in recall)]
        lines.append([*line, f"{1000 * false / images:.2f}", str(len(found))])
    return show_lines(lines)


def write_label_table(cells: dict[str, Any]) -> str:
    """Return how well wrong labels are ranked, and below it how good the lists of them are."""
    ranked = [["", "5 % wrong", "average precision", "cleanlab", "difference", "seeds"]]
    listed = [["", "5 % wrong", "`likely`: precision", "`likely`: recall", "`sure`: precision"]]
    listed[0] += ["accuracy", "accuracy without `sure`", "accuracy with true labels"]
    for table in (ranked, listed):
        table.append(["---"] * len(table[0]))
    for problem, name in NAMES.items():
        for fault in ("random", "confusable"):
            found = collect(cells, problem, fault)
            if not found:
                continue
            ours, theirs = (
                np.array([one[key] for one in found]) for key in ("average_precision", "cleanlab")
            )
            means = [f"{ours.mean():.3f}", f"{theirs.mean():.3f}", show_difference(ours - theirs)]
            ranked.append([name, fault, *means, str(len(found))])
            recall = np.mean([one["listed_and_wrong"] / one["wrong"] for one in found])
            shares = [show_share(found, "listed"), f"{recall:.2f}", show_share(found, "top")]
            accuracies = [
                np.mean([one["accuracy"][key] for one in found]) for key in found[0]["accuracy"]
            ]
            listed.append([name, fault, *shares, *(f"{one:.1f}" for one in accuracies)])
    return f"{show_lines(ranked)}\n\n{show_lines(listed)}"


def write_memory_table(cells: dict[str, Any]) -> str:
    """Return the memory that ranking takes."""
    lines = [["", "rows", "classes", "memory in MB"], ["---"] * 4]
    for found in (cell for key, cell in cells.items() if key.startswith("memory ")):
        for name, title in (("ours", "`check --labels`"), ("cleanlab", "cleanlab")):
            megabytes = f"{found[f'{name}_bytes'] / 1e6:.0f}"
            lines.append([title, f"{found['rows']:,}", f"{found['classes']:,}", megabytes])
    return show_lines(lines)


def show_share(found: list[dict[str, Any]], kind: str) -> str:
    """Return the precision of a kind of label, over all seeds: the fraction that is wrong."""
    total = sum(one[kind] for one in found)
    return f"{sum(one[f'{kind}_and_wrong'] for one in found) / total:.2f}" if total else "none"


def show_difference(differences: np.ndarray) -> str:
    """Return the mean of paired differences, with its standard error."""
    if len(differences) < 2:
        return f"{differences.mean():+.3f}"
    error = differences.std(ddof=1) / len(differences) ** 0.5
    return f"{differences.mean():+.3f} ± {error:.3f}"


def show_lines(lines: list[list[str]]) -> str:
    """Return the lines of a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
