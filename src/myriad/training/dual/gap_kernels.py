"""Sums over rows for the primal and dual values of top-k losses, and to estimate the duality gap.

Functions take the setting of the loss as an array of `TOPK` of one entry, see `topk_kernels`.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.objectives.topk import conjugate, value

GAP_SUMS = np.dtype(
    [
        ("loss", np.float64),
        ("product", np.float64),  # of the dual columns with the scores: over all rows, |W|^2
        ("conjugates", np.float64),
        ("n_rows", np.float64),
    ]
)
"""Sums over rows from which the duality gap is estimated during an epoch [TK, Theorem 1]."""


@jit
def sum_conjugates(table, setting):
    """Return the sum of the conjugates of all rows; infinite if one is outside its domain."""
    k, variant = setting[0].k, setting[0].variant
    total = 0.0
    for i in range(len(table.starts)):
        x = table.values[table.starts[i] : table.starts[i] + table.counts[i]]
        total += conjugate(x, k, variant, setting[0].r, setting[0].gamma)
    return total


@jit
def sum_squares(table):
    """Return the sum of the squares of all variables."""
    total = 0.0
    for i in range(len(table.starts)):
        for m in range(table.starts[i], table.starts[i] + table.counts[i]):
            total += table.values[m] * table.values[m]
    return total


@jit
def dot_columns(S, labels, table, first):
    """Return the sum of the products of the rows' dual columns with their scores.

    Over all rows this is the squared norm of the weights: ``sum_i a_i' W x_i = |W|^2``.

    Parameters
    ----------
    S, labels : scores (m, n_classes) and labels (m,) of the rows from number `first` on.
    table : `DualTable` of all rows.
    """
    total = 0.0
    for i in range(len(labels)):
        start = table.starts[first + i]
        for m in range(start, start + table.counts[first + i]):
            total += table.values[m] * (S[i, labels[i]] - S[i, table.classes[m]])
    return total


@jit
def add_gap_sums(S, labels, variables, sums, setting, first, every):
    """Add rows `first`, ``first + every``, ... of a block to the sums that estimate the gap.

    Parameters
    ----------
    S, labels : scores (B, n_classes) before any step of the block, and labels (B,).
    variables : `SparseBlock` of the rows.
    sums : array of `GAP_SUMS` of one entry; added to.
    """
    k, variant, gamma = setting[0].k, setting[0].variant, setting[0].gamma
    for i in range(first, len(labels), every):
        sums[0].loss += value(S[i], labels[i], k, variant, gamma)
        x = variables.values[i, : variables.counts[i]]
        for m in range(len(x)):
            sums[0].product += x[m] * (S[i, labels[i]] - S[i, variables.classes[i, m]])
        sums[0].conjugates += conjugate(x, k, variant, setting[0].r, gamma)
        sums[0].n_rows += 1.0
