"""Targets: what kernels know of the rows of a chunk beside their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.store import BalancedRows, Rows
from myriad.store.views import View
from myriad.training.engine.target_kernels import sort_places

TARGET = np.dtype(
    [
        ("key", np.uint64),  # of the row's draws within the epoch
        ("weight", np.float64),  # how much the row counts
        ("energy", np.float64),  # sum over classes of squared gradient coefficients; kernels add
        ("first", np.int64),  # its labels are classes[first:last]
        ("last", np.int64),
    ]
)


def make_targets(
    rows: Rows, index: NDArray[np.int64], start: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the targets of the rows `index`, the first at `start` in the epoch, and their labels.

    Labels rise within a row; a row without a known label has none.
    """
    targets = np.zeros(len(index), TARGET)
    targets["key"] = np.arange(start, start + len(index)) if repeats(rows) else index
    targets["weight"] = 1.0 if rows.weights is None else rows.weights[index]
    if rows.sets is not None:
        sets = rows.sets.select(index)
        classes, bounds = sets.classes, sets.starts
    else:
        labels = rows.labels[index]
        known = labels >= 0
        classes = labels[known]
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])
    targets["first"], targets["last"] = bounds[:-1], bounds[1:]
    return targets, classes


def repeats(rows: Rows) -> bool:
    """Tell whether a row may come twice in an epoch; then its place makes its draws, not it."""
    return isinstance(rows, BalancedRows) or (isinstance(rows, View) and repeats(rows.rows))


def sort_by_class(
    targets: NDArray[Any], classes: NDArray[np.int32], start: int, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places in the epoch of the rows of each class, class by class, and its bounds."""
    places, bounds = np.empty(len(classes), np.int64), np.zeros(n_classes + 1, np.int64)
    sort_places(targets, classes, start, places, bounds)
    return places, bounds
