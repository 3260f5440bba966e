"""The continuous quadratic knapsack: ``min |b - x|^2`` over ``0 <= x <= u``, ``1'x <= r`` (or =).

The solution is ``x = min(max(0, b - t), u)``. Kiwiel's variable fixing finds t without sorting
[TK, 4.1]: assume that all free variables lie strictly between their bounds, which gives t; of the
lower and the upper bound, take the one with the larger total violation, and fix the variables that
violate it at that bound; repeat with the others.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit


@inlined
def clip(b, x, origin, t, u):
    """Write ``x = min(max(0, (b - origin) - t), u)``.

    Thresholds are kept relative to an origin near the entries that matter, because their
    differences may be far smaller than they are.
    """
    for j in range(len(b)):
        x[j] = min(max(0.0, (np.float64(b[j]) - origin) - t), u)


@jit
def find_threshold(values, u, r, slope):
    """Return t with ``sum min(max(0, values - t), u) = r + slope t``.

    A slope of 0 is the knapsack with an equation; with a positive slope the sum
    grows with t, as it does where the sum is penalised instead of bounded.

    Parameters
    ----------
    values : float64 array; overwritten as work space.
    """
    n_free = len(values)  # invariant: the first n_free values are the free ones
    held = 0.0  # sum of the variables fixed at their upper bound
    t = np.inf
    while n_free > 0:
        total = held - r
        for j in range(n_free):
            total += values[j]
        # All free ones inside: sum (value - t) + held = r + slope t.
        t = total / (n_free + slope)
        below = above = 0.0
        for j in range(n_free):
            below += max(0.0, t - values[j])
            above += max(0.0, values[j] - t - u)
        if below == above:
            break
        kept = 0
        for j in range(n_free):
            if values[j] > t if below > above else values[j] - t < u:
                values[kept] = values[j]
                kept += 1
        if below < above:
            held += (n_free - kept) * u
        n_free = kept
    if n_free == 0 and slope > 0.0:
        t = (held - r) / slope
    return t


@jit
def project(b, x, u, r, equal):
    """Write the solution to `x`.

    Parameters
    ----------
    b, x : float arrays of shape (n,); `x` is written.
    u : the upper bound of each entry.
    r : the bound of the sum; at most ``n u`` where the sum must equal it.
    equal : whether the sum must equal `r`.
    """
    if len(b) == 0:
        return
    if not equal:
        total = 0.0
        for j in range(len(b)):
            total += min(max(0.0, b[j]), u)
        if total <= r:
            clip(b, x, 0.0, 0.0, u)
            return
    top = np.float64(b.max())
    values = b.astype(np.float64) - top
    clip(b, x, top, find_threshold(values, u, r, 0.0), u)


@jit
def project_simplex(b, x, r, equal):
    """Write the projection onto the simplex, the knapsack without an upper bound of each entry."""
    project(b, x, np.inf, r, equal)
