"""A comparison of codes for people: a table, and a page with the plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.cli.tables import print_table
from myriad.cli.text import format_seconds
from myriad.cli.verb import Run

if TYPE_CHECKING:
    from myriad.pipelines.compare_codes import ComparedCodes

COLUMNS = (
    "Codes",
    "Ratio",
    "Bytes a row",
    "Top-1",
    "Top-5",
    "Mean over classes",
    "Coding",
    "Training",
    "Predicting",
)


def show_codes(compared: ComparedCodes, run: Run) -> None:
    """Print a line for each code: size, accuracies in percent, and times."""
    part = compared.rows[0]
    print_table(
        COLUMNS,
        [
            [
                "plain" if row.asked == 1 else row.codes,
                row.ratio,
                row.bytes_per_row,
                row.top1,
                row.top5,
                row.class_top1,
                format_seconds(row.seconds_coding),
                format_seconds(row.seconds_training),
                format_seconds(row.seconds_predicting),
            ]
            for row in compared.rows
        ],
        title=f"Accuracy in % on {part.n:,} {part.split} rows",
        right=COLUMNS[-3:],
    )
