"""The table of accuracies: top-1 and top-5, over samples and over classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.cli.tables import print_table

if TYPE_CHECKING:
    from myriad.measures import Measures

SPLITS = {
    "val": "validation images",
    "test": "test images",
    "train": "training images",
    "all": "images",
}


def print_accuracies(measures: Measures, *, split: str) -> None:
    """Print top-1 and top-5 accuracy, over samples and as the mean over classes."""
    counts = f"{measures.n:,} {SPLITS.get(split, split)}, {measures.classes:,} classes"
    if measures.unknown:
        counts += f", {measures.unknown:,} of classes that the model does not know"
    if measures.bad:
        counts += f", {measures.bad:,} bad images skipped"
    print_table(
        ["Accuracy in %", "Top-1", "Top-5"],
        [
            ["over samples", measures.sample_at[0], measures.sample_at[4]],
            ["mean over classes", measures.class_at[0], measures.class_at[4]],
        ],
        title=counts,
    )
