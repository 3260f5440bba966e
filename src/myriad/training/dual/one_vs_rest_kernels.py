"""Dual steps of one-vs-rest support vector machines through a block of rows.

There is a column for each class: variables v >= 0 of the rows, with ``w = sum_i z_i v_i x_i`` where
z is 1 for rows of the class and -1 for the others. Coordinate ascent sets one variable at a time to
its optimum, as LIBLINEAR does; scores within a block are corrected by the changes of the rows
before.

The dual of a column is ``sum_i v_i - ridge_i v_i^2 / 2 - |w|^2 / 2`` over ``0 <= v_i <= upper_i``;
losses differ in the constants alone, see `objectives.binary`.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.objectives.binary import dual_value
from myriad.training.dual.sparse_duals_kernels import has_class

DUAL_SIDE = np.dtype(
    [
        ("weight", np.float64),  # of a row's loss
        ("upper", np.float64),  # upper bound of its variable
        ("ridge", np.float64),  # coefficient of its square; see above
    ]
)
"""Constants of a class: the first of its two entries is for negative rows, the second for positive
ones."""


@jit
def mark_positives(positives, index, first, marked):
    """Mark where rows have a class among their labels.

    Parameters
    ----------
    positives : `RowClasses` of all rows.
    index : int64 array of shape (B,), the numbers of the rows.
    first : the class of the first column.
    marked : bool array of shape (n_columns, B), all false; changed in place.
    """
    for i in range(len(index)):
        for k in range(positives.starts[index[i]], positives.starts[index[i] + 1]):
            c = positives.classes[k] - first
            if 0 <= c < len(marked):
                marked[c, i] = True


@jit
def step_columns(gram, positive, sides, S, values, steps):
    """Step columns through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    positive : bool array of shape (n_columns, B), whether a row has the class of a column.
    sides : array of `DUAL_SIDE` of shape (n_columns, 2).
    S : float array of shape (n_columns, B), products; changed in place: each step corrects the rows
        after it.
    values : float64 array of shape (n_columns, B), the variables; changed in place.
    steps : float array of shape (n_columns, B); set to the changes of the weights, as multiples of
        the rows.

    Returns
    -------
    The number of steps that are not zero.
    """
    B = len(gram)
    nonzero = 0
    for c in range(len(sides)):
        for i in range(B):
            steps[c, i] = 0.0
            side = sides[c, 1] if positive[c, i] else sides[c, 0]
            z = 1.0 if positive[c, i] else -1.0
            old = values[c, i]
            slope = 1.0 - z * S[c, i] - side.ridge * old
            # At a bound, and the dual rises only beyond it: the variable stays.
            if (old == 0.0 and slope <= 0.0) or (old == side.upper and slope >= 0.0):
                continue
            # Newton's step is exact for a quadratic. A row of zero norm has a linear dual: its best
            # value is the upper bound.
            size = gram[i, i] + side.ridge
            new = min(max(old + slope / size, 0.0), side.upper) if size > 0.0 else side.upper
            values[c, i] = new
            steps[c, i] = z * (new - old)
            if steps[c, i] != 0.0:
                nonzero += 1
                # The Gram correction s_j = S_j + sum_{i<j} G_ij A_i, as soon as A_i is known.
                for j in range(i + 1, B):
                    S[c, j] += steps[c, i] * gram[i, j]
    return nonzero


@jit
def scatter_variables(block, values):
    """Write the variables of a `SparseBlock` to `values` (n_classes, B), changed in place."""
    for c in range(len(values)):
        for i in range(len(block.counts)):
            values[c, i] = 0.0
    for i in range(len(block.counts)):
        for m in range(block.counts[i]):
            values[block.classes[i, m], i] = block.values[i, m]


@jit
def gather_variables(values, block):
    """Write the nonzero variables (n_classes, B) to a `SparseBlock`: undoes `scatter_variables`."""
    counts = block.counts
    for i in range(len(counts)):
        counts[i] = 0
    # Class by class, so that classes ascend within a row.
    for c in range(len(values)):
        for i in range(len(counts)):
            if values[c, i] != 0.0:
                block.classes[i, counts[i]] = c
                block.values[i, counts[i]] = values[c, i]
                counts[i] += 1


@jit
def sum_losses(S, positive, sides, loss, totals):
    """Add the losses of rows of scores (n_samples, n_classes) to `totals` (n_classes,).

    `positive` says which rows have which classes, a bool array of the shape of the scores; `loss`
    is the number of the loss, see `DUAL_LOSSES`.
    """
    for i in range(len(S)):
        for c in range(len(totals)):
            side = sides[c, 1] if positive[i, c] else sides[c, 0]
            z = 1.0 if positive[i, c] else -1.0
            totals[c] += side.weight * dual_value(loss, z, S[i, c])


@jit
def sum_variables(positives, table, sides, sums, ridges):
    """Add the variables of each class to `sums`, and ``ridge v^2 / 2`` to `ridges`."""
    for i in range(len(table.counts)):
        for m in range(table.starts[i], table.starts[i] + table.counts[i]):
            c = table.classes[m]
            side = sides[c, 1] if has_class(positives, i, c) else sides[c, 0]
            sums[c] += table.values[m]
            ridges[c] += 0.5 * side.ridge * table.values[m] ** 2
