"""Dual steps of the top-k SVM over the support: the variables that are not zero.

Most of a row's variables are zero and stay so. A step over the others alone needs their few
products, and none for a row without any; it finds the best point of the dual among those that keep
the zeros, so that the dual never falls. What it cannot do is to find a new variable: steps over all
classes, see `topk_kernels`, come in between.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.draws import dot
from myriad.objectives.largest import select_largest
from myriad.objectives.topk import ALPHA, BETA
from myriad.projections import topk_beta, topk_simplex


@jit
def step_support(X, numbers, labels, table, classes, values, V, constants, tally, setting):
    """Step through rows, one at a time, over the variables that are not zero.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    numbers, labels : int64 and int32 arrays of shape (m,), the rows' numbers and classes.
    table : where rows begin in the pool and how many variables each has; the latter is changed.
    classes, values : the pool of variables, ascending in class within a row; changed.
    V, constants : the weights (n_classes, n_features), and those of the constant feature; changed.
    tally : what estimates the gap, see `topk_kernels.tally_gap`; added to.
    setting : record of one entry, see `topk_kernels`.
    """
    starts, counts = table
    bias = setting[0].bias
    h, b = np.empty((2, max(1, counts.max())), np.float64)
    for i in range(len(X)):
        row, label, n = numbers[i], labels[i], counts[numbers[i]]
        square = dot(X[i], X[i]) + bias * bias
        tally[3] += 1.0
        if n == 0 or square <= 0.0:
            continue
        own = slice(starts[row], starts[row] + n)
        total = values[own].sum()
        truth = dot(V[label], X[i]) + bias * constants[label]
        for m in range(n):
            c = classes[own][m]
            h[m] = 1.0 + dot(V[c], X[i]) + bias * constants[c] - truth
            b[m] = h[m] / square + values[own][m] + total
        tally_row(h[:n], values[own], tally, setting)
        origin, t, u = find_cut(b[:n], setting)
        kept, left = 0, 0.0
        for m in range(n):
            c, value = classes[own][m], values[own][m]
            x = min(max(0.0, (b[m] - origin) - t), u)
            add_step(X[i], V[c], constants[c : c + 1], value - x, bias)
            if x > 0.0:
                classes[own][kept], values[own][kept] = c, x
                left += x
                kept += 1
        counts[row] = kept
        add_step(X[i], V[label], constants[label : label + 1], left - total, bias)


@inlined
def tally_row(h, values, tally, setting):
    """Add a row to the tally: its loss, as if other classes had none, and its variables."""
    top = select_largest(h, min(setting[0].k, len(h)))
    loss = 0.0
    for j in range(len(top)):
        loss += max(0.0, top[j]) if setting[0].variant == BETA else top[j]
    tally[0] += max(0.0, loss / setting[0].k)
    for m in range(len(h)):
        tally[1] += values[m] * (1.0 - h[m])
        tally[2] += values[m]


@inlined
def find_cut(b, setting):
    """Return origin, t and u of the best variables ``min(max(0, (b - origin) - t), u)``."""
    if setting[0].variant == ALPHA:
        return topk_simplex.find_thresholds(b, setting[0].k, 1.0, setting[0].r)
    return topk_beta.find_thresholds(b, setting[0].k, 1.0, setting[0].r)


@inlined
def add_step(x, w, constant, step, bias):
    """Add a row, times a step, to the weights of a class."""
    if step != 0.0:
        a = w.dtype.type(step)
        for j in range(len(x)):
            w[j] += a * x[j]
        constant[0] += step * bias
