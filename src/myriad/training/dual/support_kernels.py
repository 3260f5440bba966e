"""Dual steps of the top-k SVM over the support: the variables that are not zero.

Most of a row's variables are zero and stay so. A step over the others alone needs only their few
products, and none for a row without any. It maximises the dual over the points that have the same
zeros, so that the dual never decreases. Since it cannot make a zero variable positive, epochs of
steps over all classes, see `topk_kernels`, come in between.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest
from myriad.objectives.draws import dot
from myriad.objectives.topk import ALPHA, BETA, smooth_value
from myriad.projections import topk_beta, topk_simplex
from myriad.training.dual.topk_kernels import smoothed_size


@jit
def step_support(X, numbers, labels, table, V, constants, sums, setting):
    """Step through rows, one at a time, over the variables that are not zero.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    numbers, labels : int64 and int32 arrays of shape (m,), the rows' numbers and classes.
    table : `DualTable`; counts, classes and values are changed in place: a row only ever shrinks.
    V, constants : the weights (n_classes, n_features), and those of the constant feature; changed
        in place.
    sums : array of `GAP_SUMS` of one entry, see `gap_kernels`; added to.
    setting : array of `TOPK` of one entry.
    """
    bias = setting[0].bias
    h, b = np.empty((2, max(1, table.counts.max())), np.float64)
    for i in range(len(X)):
        row, label, n = numbers[i], labels[i], table.counts[numbers[i]]
        square = dot(X[i], X[i]) + bias * bias
        sums[0].n_rows += 1.0
        if n == 0 or square <= 0.0:
            continue
        own = slice(table.starts[row], table.starts[row] + n)
        classes, values = table.classes[own], table.values[own]
        total = values.sum()
        truth = dot(V[label], X[i]) + bias * constants[label]
        size, rho = smoothed_size(square, setting)
        for m in range(n):
            c = classes[m]
            h[m] = 1.0 + dot(V[c], X[i]) + bias * constants[c] - truth
            # [TK, Proposition 4] with the row's own part, x_c + 1'x, removed from the products.
            b[m] = h[m] / size + rho * values[m] + rho * total
        add_row_sums(h[:n], values, sums, setting)
        origin, t, u = find_thresholds(b[:n], rho, setting)
        kept, left = 0, 0.0
        for m in range(n):
            c, value = classes[m], values[m]
            x = min(max(0.0, (b[m] - origin) - t), u)
            add_step(X[i], V[c], constants[c : c + 1], value - x, bias)
            if x > 0.0:
                classes[kept], values[kept] = c, x
                left += x
                kept += 1
        table.counts[row] = kept
        add_step(X[i], V[label], constants[label : label + 1], left - total, bias)


@inlined
def add_row_sums(h, values, sums, setting):
    """Add a row to `sums`: its variables, and its loss over the classes of the support alone."""
    gamma, r = setting[0].gamma, setting[0].r
    if gamma > 0.0:
        sums[0].loss += smooth_value(h, setting[0].k, setting[0].variant, gamma)
    else:
        top = select_largest(h, min(setting[0].k, len(h)))
        loss = 0.0
        for j in range(len(top)):
            loss += max(0.0, top[j]) if setting[0].variant == BETA else top[j]
        sums[0].loss += max(0.0, loss / setting[0].k)
    for m in range(len(h)):
        sums[0].product += values[m] * (1.0 - h[m])
        sums[0].conjugates += 0.5 * gamma / r * values[m] * values[m] - values[m]


@inlined
def find_thresholds(b, rho, setting):
    """Return origin, t and u of the solution ``min(max(0, (b - origin) - t), u)``."""
    if setting[0].variant == ALPHA:
        return topk_simplex.find_thresholds(b, setting[0].k, rho, setting[0].r)
    return topk_beta.find_thresholds(b, setting[0].k, rho, setting[0].r)


@inlined
def add_step(x, w, constant, step, bias):
    """Add a row, times a step, to the weights of a class."""
    if step != 0.0:
        a = w.dtype.type(step)
        for j in range(len(x)):
            w[j] += a * x[j]
        constant[0] += step * bias
