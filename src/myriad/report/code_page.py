"""The page of a comparison of codes: accuracy against ratio in a plot and a table [CC]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from myriad.files import atomic_write
from myriad.report.page import render_page
from myriad.report.plots import plot_ratios, plot_times
from myriad.report.wording import show_count, show_number, show_percent, show_seconds

COLUMNS = (
    "Codes",
    "Ratio",
    "Bytes a row",
    "Top-1, over samples",
    "Top-5, over samples",
    "Top-1, mean over classes",
    "Error",
    "Coding",
    "Training",
    "Predicting",
)
WORKS = ("coding", "training", "predicting")


def write_code_page(rows: Sequence[Mapping[str, Any]], path: Path, *, title: str) -> None:
    """Write the page of a comparison; `rows` are its lines as plain JSON."""
    page = render_page(
        "codes.html",
        title=title,
        n=show_count(rows[0]["n"]),
        split={"val": "validation"}.get(rows[0]["split"], rows[0]["split"]),
        plot=plot_ratios(rows),
        times=[(f"Time of {work}", plot_times(rows, work)) for work in WORKS],
        columns=COLUMNS,
        rows=[_write_row(row) for row in rows],
    )
    with atomic_write(path) as beside:
        beside.write_text(page, encoding="utf-8", errors="backslashreplace")


def _write_row(row: Mapping[str, Any]) -> list[str]:
    error = None if row["error"] is None else 100 * row["error"]
    return [
        "plain" if row["codes"] == "none" else row["codes"],
        show_number(round(row["ratio"], 1)),
        show_count(row["bytes_per_row"]),
        show_percent(row["top1"]),
        show_percent(row["top5"]),
        show_percent(row["class_top1"]),
        show_percent(error),
        show_seconds(row["seconds_coding"]),
        show_seconds(row["seconds_training"]),
        show_seconds(row["seconds_predicting"]),
    ]
