"""Kernel inputs for the rows of a chunk: features in blocks, labels and random draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.store import BalancedRows, Rows
from myriad.store.views import View

TARGET = np.dtype(
    [
        ("key", np.uint64),  # of the row's random draws within the epoch
        ("weight", np.float64),  # of the row's loss
        ("squared_gradient", np.float64),  # sum over classes of squared coefficients; kernels add
        ("first", np.int64),  # the row's labels are classes[first:last]
        ("last", np.int64),
    ]
)


class BlockedRows(NamedTuple):
    """The rows of a chunk, cut into blocks of B rows.

    Attributes
    ----------
    X : float array of shape (m, n_features), C-contiguous.
    panels : float array of shape (n_blocks * ceil(B / 16), n_features, 16), each block as
        `panels.pack_rows` packs it, one after the other.
    grams : float array of shape (m, B); row i holds its products with the rows of its own block.
    """

    X: Any
    panels: Any
    grams: Any


class RowLabels(NamedTuple):
    """The labels of the rows of a chunk.

    Attributes
    ----------
    targets : array of `TARGET` of shape (m,).
    classes : int32 array; row i has the labels ``classes[targets[i].first : targets[i].last]``.
    """

    targets: Any
    classes: Any


class ClassPositions(NamedTuple):
    """The positions, in the order of the epoch, of a chunk's rows of each class.

    Attributes
    ----------
    positions : int64 array, class by class, ascending within a class.
    starts : int64 array of shape (n_classes + 1,); those of class c are
        ``positions[starts[c] : starts[c + 1]]``.
    """

    positions: NDArray[np.int64]
    starts: NDArray[np.int64]


def make_targets(
    rows: Rows, index: NDArray[np.int64], start: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the targets of the rows `index`, and their labels.

    Labels ascend within a row; a row without a known label has none.

    Parameters
    ----------
    start : position in the epoch of the first row.
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
    """Return whether a row may occur twice in an epoch: its position is then the key of its draws.

    Otherwise its index is the key, so that draws do not depend on the order of the epoch.
    """
    return isinstance(rows, BalancedRows) or (isinstance(rows, View) and repeats(rows.rows))


def sort_by_class(
    targets: NDArray[Any], classes: NDArray[np.int32], start: int, n_classes: int
) -> ClassPositions:
    """Return the positions in the epoch of the rows of each class.

    Parameters
    ----------
    start : position in the epoch of the first row.
    """
    positions, starts = np.empty(len(classes), np.int64), np.zeros(n_classes + 1, np.int64)
    sort_positions(targets, classes, start, positions, starts)
    return ClassPositions(positions, starts)


@jit
def sort_positions(targets, classes, start, positions, starts):
    """Write the positions in the epoch of the rows of each class, by a counting sort.

    Labels beyond the last class are left out; the end of `positions` is then unused.

    Parameters
    ----------
    targets, classes : see `RowLabels`.
    start : position of the first row.
    positions : int64 array, as long as `classes`; changed in place.
    starts : int64 array of zeros of shape (n_classes + 1,); set to where in `positions` each class
        begins, and to the end.
    """
    n_classes = len(starts) - 1
    for c in classes:
        if c < n_classes:
            starts[c + 1] += 1
    for c in range(1, n_classes + 1):
        starts[c] += starts[c - 1]
    for i in range(len(targets)):
        for k in range(targets[i].first, targets[i].last):
            if classes[k] < n_classes:
                positions[starts[classes[k]]] = start + i
                starts[classes[k]] += 1
    # Each start has moved to the end of its class, which is the start of the next one.
    for c in range(n_classes, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0
