"""Intersections of histograms: the kernel of kernel PCA."""

from __future__ import annotations

import numpy as np

from myriad._jit import jit_reassociated
from myriad.arrays import Float


@jit_reassociated
def sum_minima(rows: Float, others: Float, sums: Float) -> None:
    """Set ``sums[i, j] = sum_d min(rows[i, d], others[j, d])``.

    Parameters
    ----------
    rows : float32 array of shape (n, n_features), read.
    others : float32 array of shape (m, n_features), read.
    sums : float32 array of shape (n, m), set.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(others.shape[0]):
            other = others[j]
            total = np.float32(0.0)
            for d in range(row.size):
                total += min(row[d], other[d])
            sums[i, j] = total
