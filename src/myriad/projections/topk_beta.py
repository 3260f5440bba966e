"""The top-k simplex of the beta loss  [TK, 2.3].

``min |b - x|^2 + rho (1'x)^2`` over ``1'x <= r``, ``0 <= x_j <= r / k``: the domain of the
conjugate of the mean of the k largest, each clipped at zero. For k = 1 it is the simplex.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.projections.knapsack import clip, find_threshold


@inlined
def bound_threshold(last, k, r):
    """Return a lower bound of t: entries up to it are zero in the solution.

    The multiplier of the sum is not negative, so t is not either; and at ``t < last - r / k``,
    `last` being the k-th largest entry, the sum of k entries alone would exceed r.
    """
    return max(0.0, last - r / k)


@jit
def find_thresholds(b, k, rho, r):
    """Return origin, t and u with ``x = min(max(0, (b - origin) - t), u)``; `b` is not empty."""
    first, u = np.float64(b.max()), r / k
    # Assume 1'x = r first, a knapsack; that holds the solution if its threshold is at least the
    # rho r which the penalty asks for.
    if len(b) >= k:
        t = find_threshold(b.astype(np.float64) - first, u, r, 0.0)
        if first + t >= rho * r:
            return first, t, u
    if rho == 0.0:
        return 0.0, 0.0, u
    # The sum is below r, and its penalty alone determines the threshold: t = rho 1'x.
    t = find_threshold(b.astype(np.float64), u, 0.0, 1.0 / rho)
    return 0.0, max(0.0, t), u


@jit
def project(b, x, k, rho, r):
    """Write the solution to `x`.

    Parameters
    ----------
    b, x : float arrays of shape (n,); `x` is written.
    k : from 1 on.
    rho : the penalty on the squared sum, from 0 on.
    r : the bound of the sum.
    """
    if len(b) > 0:
        origin, t, u = find_thresholds(b, k, rho, r)
        clip(b, x, origin, t, u)
