"""The results of `calibration.py` as the tables of docs/probabilities.md.

Command:   python recipes/calibration_tables.py [docs/probabilities.md]
Time:      a second
Expected:  the tables, printed or written into the page
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results" / "calibration.json"
BEGIN, END = "<!-- tables: written by a command -->", "<!-- end of tables -->"
SETS = {"raps": "`raps`", "mapie raps": "MAPIE RAPS", "lac": "`lac`", "mapie lac": "MAPIE LAC"}


def show(value: float | None, digits: int, factor: float = 1.0) -> str:
    """Return a number as text, a dash if it was not measured."""
    return "-" if value is None else f"{factor * value:.{digits}f}"


def tabulate(columns: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_tables(found: dict[str, Any]) -> str:
    """Return all tables."""
    errors = [
        [
            row["problem"],
            row["method"],
            str(row["seeds"]),
            show(row["rows"], 0),
            show(row["accuracy"], 1, 100),
            show(row["error"], 4),
            show(row["temperature"], 4),
        ]
        for row in found["calibration"]
    ]
    names = ["rows", "method", "seeds", "calibration rows", "top-1, %", "error", "temperature"]
    sets = [
        [
            row["problem"],
            row["method"],
            show(row["wanted"], 0, 100),
            show(row["top1"], 1, 100),
            *(
                f"{show(row[f'{kind} coverage'], 1, 100)}, {show(row[f'{kind} size'], 2)}"
                for kind in SETS
            ),
        ]
        for row in found["sets"]
    ]
    wanted = ["rows", "method", "wanted, %", "top-1, %", *(f"{name}" for name in SETS.values())]
    parts = [
        tabulate(names, errors),
        "Prediction sets: coverage in percent, mean size.",
        tabulate(wanted, sets),
    ]
    for row in found["novelty"]:
        ranked = sorted(row["areas"].items(), key=lambda item: -item[1])
        parts.append(
            f"A fifth of the classes of {row['problem']} left out of training, {row['seeds']} "
            "seeds: area under the ROC curve of scores of novelty."
        )
        parts.append(tabulate(["score", "area"], [[name, show(area, 3)] for name, area in ranked]))
    return "\n\n".join(parts)


def main() -> None:
    """Print the tables, or write them into a page."""
    tables = write_tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    if len(sys.argv) == 1:
        print(tables)
        return
    page = Path(sys.argv[1])
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
