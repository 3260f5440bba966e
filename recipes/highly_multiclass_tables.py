"""The results of `highly_multiclass.py` as tables beside those of [HM], written into their page.

    python recipes/highly_multiclass_tables.py                # print the tables
    python recipes/highly_multiclass_tables.py docs/recipes.md   # write them into the page

The page holds them between two comments that say so; a test compares them with the files of
results, so that the two cannot drift apart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from results import fill_page, make_parser

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SETS = {"Omniglot": "omniglot", "glyphs": "glyphs"}
SEEDS = 5

PAPER_SETS = ("16k ImageNet", "22k ImageNet", "21k Web", "97k Web")
PAPER_CLASSIFIERS = {  # [HM, Table 8]
    "nearest means": (4.4, 2.7, 2.6, 2.3),
    "k-NN": (None, None, None, None),
    "one-vs-all, 1 : 1": (4.1, 3.5, 2.1, 1.6),
    "one-vs-all, 1 : 1, plain SGD": (None, None, None, None),
    "one-vs-all": (9.4, 8.2, 8.3, 6.8),
    "one-vs-all, plain SGD": (None, None, None, None),
    "one-vs-all, dual": (None, None, None, None),
    "AUC": (4.7, 5.1, 2.8, 3.1),
    "AUC, plain SGD": (None, None, None, None),
    "Wsabie": (6.5, 6.6, 4.5, 2.8),
    "Wsabie ensemble": (8.1, 7.0, 6.0, 3.4),
    "Wsabie++": (11.2, 10.3, 8.5, 8.2),
    "Wsabie++ ensemble": (11.9, 10.5, 8.6, 8.3),
}
PAPER_ABLATIONS = {  # [HM, Table 6]
    "Wsabie": 3.7,
    "Wsabie + 10 last violators": 5.0,
    "Wsabie + adagrad": 5.0,
    "Wsabie + counting adagrad": None,
    "Wsabie + constant weight": 4.1,
    "Wsabie + adagrad + 10 last violators": 5.9,
    "Wsabie + adagrad + constant weight": 6.0,
    "... + 1 last violator": 6.3,
    "... + 10 last violators": 7.1,
    "... + 100 last violators": 6.8,
    "... + 10, never forgotten": None,
}
PAPER_DIMS = {  # [HM, 9.1]
    "128": 7.4, "192": 7.7, "256": 8.3, "384": 7.9, "512": 7.1, "768": 6.7, "1024": 6.5,
}  # fmt: skip


def read_results() -> dict[str, dict[str, Any]]:
    """Return the results of each set that has been run."""
    paths = {name: RESULTS / f"highly_multiclass-{kind}.json" for name, kind in SETS.items()}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.exists()
    }


def format_mean(found: dict[str, Any] | None) -> str:
    """Return a mean with its standard deviation, and the number of seeds if it is not `SEEDS`."""
    if found is None:
        return ""
    if found["seeds"] == 1:
        return f"{found['mean']:.1f} (one seed)"
    fewer = "" if found["seeds"] == SEEDS else f" ({found['seeds']} seeds)"
    return f"{found['mean']:.1f} ± {found['spread']:.1f}{fewer}"


def format_value(value: float | None) -> str:
    """Return a figure of the paper, a dash where it has none."""
    return "–" if value is None else f"{value:.1f}"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def format_tables(results: dict[str, dict[str, Any]]) -> str:
    """Return all tables, and what they were made from."""

    def row(table: str, line: str) -> list[str]:
        return [format_mean(found.get(table, {}).get(line)) for found in results.values()]

    sets = list(results)
    classifiers = [
        [line, *row("table8", line), *map(format_value, paper)]
        for line, paper in PAPER_CLASSIFIERS.items()
    ]
    ablations = [
        [line, *row("table6", line), format_value(paper)] for line, paper in PAPER_ABLATIONS.items()
    ]
    dims = sorted(
        {*PAPER_DIMS, *(d for found in results.values() for d in found["by_dim"])}, key=int
    )
    by_dim = [[d, *row("by_dim", d), format_value(PAPER_DIMS.get(d))] for d in dims]
    return "\n\n".join(
        [
            "\n".join(describe(name, found) for name, found in results.items()),
            "### Classifiers [HM, Table 8]",
            format_table(["", *sets, *PAPER_SETS], classifiers),
            "### From Wsabie to Wsabie++, Euclidean throughout [HM, Table 6]",
            "Embeddings of 64 dimensions; the paper's have 100.",
            format_table(["", *sets, "21k Web"], ablations),
            "### Wsabie++ by the dimensions of its embedding [HM, 9.1]",
            format_table(["dim", *sets, "21k Web"], by_dim),
            "### Classes that starve",
            format_starved(json.loads((RESULTS / "last_violators.json").read_text("utf-8"))),
        ]
    )


def format_starved(found: dict[str, Any]) -> str:
    """Return the table of `last_violators.py`."""
    names = ("train", "test", "starved", "test_of_others", "passed")
    rows = [
        [f"{row['margin']:g}", f"{row['eta']:g}", row["last_violators"]]
        + [f"{row[name]:.1f}" for name in names]
        for row in found["cells"].values()
    ]
    header = ["margin", "eta", "last violators", "train", "test", "starved classes"]
    return format_table([*header, "test, other classes", "rows skipped"], rows)


def describe(name: str, found: dict[str, Any]) -> str:
    """Return a line with the origin of the results of a set."""
    shown = (
        f"- **{name}**: {found['classes']:,} classes, {found['rows']:,} rows, {SEEDS} seeds unless "
        f"stated; {found['date'][:10]}, {found['machine']}."
    )
    if found.get("forget", True):
        return shown
    return f"{shown} Last violators of order 8 are never cleared; settings chosen after 4 epochs."


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = make_parser(__doc__)
    parser.add_argument("page", type=Path, nargs="?")
    options = parser.parse_args()
    fill_page(options.page, {"tables": format_tables(read_results())})


if __name__ == "__main__":
    main()
