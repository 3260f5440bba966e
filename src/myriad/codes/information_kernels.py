# mypy: disable-error-code="no-untyped-def"
"""Kernels that count, for each class and feature, in which bins the values of rows lie.

The classes of row i are ``classes[starts[i]:starts[i + 1]]``, none or several. Each call counts the
features of one tile, so that threads can share the tiles of a block.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit

FULL = 255
"""The largest value of a counter of one byte."""


@jit
def mark_full(classes, held, full):
    """Set `full` (n,) where the byte counters of a label's class must be emptied before the row.

    `classes` (n,) are the labels of a block. `held` (n_classes,) int64, the rows counted in
    the bytes of each class, is updated; no byte may count more than `FULL`.
    """
    for p in range(classes.shape[0]):
        c = classes[p]
        full[p] = held[c] == FULL
        held[c] = 1 if full[p] else held[c] + 1


@jit
def count_signs(X, starts, classes, full, small, counts, first, last):
    """Count the values of at least 0 among the features `first` to `last`.

    `small` uint8 (n_classes, n_features) holds the latest counts: adding to bytes moves a quarter
    of the memory. Where `full` is set they are first added to `counts` uint32 and reset.
    """
    for i in range(X.shape[0]):
        x = X[i, first:last]
        for p in range(starts[i], starts[i + 1]):
            few = small[classes[p], first:last]
            if full[p]:
                many = counts[classes[p], first:last]
                for j in range(few.shape[0]):
                    many[j] += few[j]
                    few[j] = 0
            for j in range(few.shape[0]):
                few[j] += np.uint8(x[j] >= 0)


@jit
def find_ranges(X, lows, highs, first, last):
    """Widen the ranges, float32 (n_features,) each, of the features `first` to `last`."""
    for i in range(X.shape[0]):
        for j in range(first, last):
            lows[j] = min(lows[j], X[i, j])
            highs[j] = max(highs[j], X[i, j])


@jit
def count_bins(X, starts, classes, lows, scales, counts, first, last):
    """Count the values of the features `first` to `last` in equal bins of each one's range.

    `counts` is uint32 (n_classes, n_features, n_bins). A value x lies in bin
    ``(x - low) * scale``, rounded down; the highest value of the range in the last one.
    """
    top = counts.shape[2] - 1
    for i in range(X.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            cells = counts[classes[p]]
            for j in range(first, last):
                position = (np.float64(X[i, j]) - np.float64(lows[j])) * scales[j]
                cells[j, min(np.int64(position), top)] += 1


@jit
def sum_n_log_n(counts, sizes, table, joint, ones):
    """Sum ``n log2 n`` over the classes for both signs into `joint`, and the counts into `ones`.

    `counts` is uint32 (n_classes, n_features), `sizes` the rows of each class, and `table` holds
    ``n log2 n`` of every possible count. `joint` and `ones` (n_features,) are added to.
    """
    for c in range(counts.shape[0]):
        row, size = counts[c], sizes[c]
        for j in range(row.shape[0]):
            joint[j] += table[row[j]] + table[size - row[j]]
            ones[j] += row[j]
