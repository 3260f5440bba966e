"""The rows that a large problem is searched on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.randomness import generator
from myriad.store import Rows

FEW_ROWS = 20_000
"""Rows up to which candidates are compared on all rows; more are searched on a subsample."""
SEARCHED_ROWS, SEARCHED_SHARE = 15_000, 0.2
"""Rows of the subsample on which a larger problem is searched, at most, and their share of all
rows: with it a search takes two or three times as long as the training that follows."""
SEARCH_FLOPS = 2e12
"""Multiply-adds, about, of a search on all folds: where it would take more, it has fewer rows."""
SEARCH_EPOCHS = 150
"""Epochs of all candidates together, about."""
LEAST_ROWS, LEAST_CLASS_ROWS = 2000, 8
"""Rows, and rows of a class on average, that a search has in any case."""


def count_searched(n_rows: int, dim: int, n_classes: int) -> int:
    """Return how many of the rows candidates are compared on."""
    most = n_rows
    if most > FEW_ROWS:
        most = min(SEARCHED_ROWS, int(SEARCHED_SHARE * most))
    # Two products for each row, class and feature, of which no more count than there are rows.
    affordable = int(SEARCH_FLOPS / (2.0 * SEARCH_EPOCHS * n_classes * min(dim, most)))
    return min(most, max(affordable, LEAST_ROWS, LEAST_CLASS_ROWS * n_classes))


def subsample(rows: Rows, n_classes: int, *, seed: int) -> NDArray[np.int64] | None:
    """Return the numbers of the rows that a large problem is searched on; None for all.

    Every class has about the same share of them as of all rows.
    """
    size = count_searched(rows.n_rows, rows.dim, n_classes)
    if size == rows.n_rows:
        return None
    order = generator(seed, "search rows").permutation(rows.n_rows)
    order = order[np.argsort(rows.labels[order], kind="stable")]
    return np.sort(order[np.arange(size) * rows.n_rows // size])
