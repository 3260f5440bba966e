"""Dual steps of one-vs-rest support vector machines through a block of rows.

A column a class: variables v of the rows, at least 0; ``w = sum_i z_i v_i x_i`` with z = 1 for rows
of the class and -1 for the others. One variable at a time is set to its best value, as LIBLINEAR
does; scores within a block are corrected by the changes of the rows before.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit

PART = np.dtype(
    [
        ("weight", np.float64),  # of a row's loss
        ("upper", np.float64),  # the most that its variable may be
        ("ridge", np.float64),  # the price of its square
    ]
)
"""What a column has for the rows of the rest (0) and for those of the class (1)."""


@jit
def step_columns(gram, labels, parts, S, values, steps, first):
    """Step columns through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels : int32 array of shape (B,)
    parts : records of shape (n_columns, 2), see `PART`.
    S : float array of shape (n_columns, B), products; changed: each step corrects the rows after.
    values : float64 array of shape (n_columns, B), the variables; changed.
    steps : float array of shape (n_columns, B); set to the change of the weights as times the row.
    first : the class of the first column.

    Returns
    -------
    The number of steps that are not zero.
    """
    B = len(labels)
    nonzero = 0
    for c in range(len(parts)):
        for i in range(B):
            steps[c, i] = 0.0
            positive = labels[i] == first + c
            part = parts[c, 1] if positive else parts[c, 0]
            z = 1.0 if positive else -1.0
            old = values[c, i]
            slope = 1.0 - z * S[c, i] - part.ridge * old
            if (old == 0.0 and slope <= 0.0) or (old == part.upper and slope >= 0.0):
                continue
            size = gram[i, i] + part.ridge
            new = min(max(old + slope / size, 0.0), part.upper) if size > 0.0 else part.upper
            values[c, i] = new
            steps[c, i] = z * (new - old)
            if steps[c, i] != 0.0:
                nonzero += 1
                for j in range(i + 1, B):
                    S[c, j] += steps[c, i] * gram[i, j]
    return nonzero


@jit
def spread(classes, stored, counts, values):
    """Write the variables of a block's rows, kept sparse, to `values` (n_classes, B)."""
    values[:, : len(counts)] = 0.0
    for i in range(len(counts)):
        for m in range(counts[i]):
            values[classes[i, m], i] = stored[i, m]


@jit
def collect(values, classes, stored, counts):
    """Keep the variables (n_classes, B) that are not zero: the reverse of `spread`."""
    counts[:] = 0
    for c in range(len(values)):
        for i in range(len(counts)):
            if values[c, i] != 0.0:
                classes[i, counts[i]] = c
                stored[i, counts[i]] = values[c, i]
                counts[i] += 1


@jit
def sum_losses(S, labels, parts, squared, totals):
    """Add the losses of rows of scores (n_samples, n_classes) to `totals` (n_classes,)."""
    for i in range(len(labels)):
        for c in range(len(totals)):
            positive = labels[i] == c
            loss = max(0.0, 1.0 - (S[i, c] if positive else -S[i, c]))
            weight = parts[c, 1].weight if positive else parts[c, 0].weight
            totals[c] += weight * (loss * loss if squared else loss)


@jit
def sum_variables(labels, starts, counts, classes, values, parts, sums, prices):
    """Add the variables of each class to `sums` and their squares' prices to `prices`."""
    for i in range(len(labels)):
        for m in range(starts[i], starts[i] + counts[i]):
            c = classes[m]
            part = parts[c, 1] if c == labels[i] else parts[c, 0]
            sums[c] += values[m]
            prices[c] += 0.5 * part.ridge * values[m] ** 2
