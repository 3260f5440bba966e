"""The top-k simplex of the alpha loss  [TK, 2.2.1 and 4.3].

``min |b - x|^2 + rho (1'x)^2`` over ``1'x <= r``, ``0 <= x_j <= 1'x / k``: the domain of the
conjugate of the mean of the k largest, cut at zero. Where the sum reaches r it is the knapsack with
the upper bound r / k; where it does not, the top-k cone. For k = 1 it is the simplex.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.largest import select_largest, sort_down
from myriad.projections.knapsack import find_threshold
from myriad.projections.thresholds import cut
from myriad.projections.topk_cone import walk


@inlined
def bound_threshold(first, last, k, rho, r):
    """Return a number that t is never below: entries up to it are zero in the solution.

    Along the walk of `topk_cone` t + u is at least the k-th largest entry, `last`, and u is at most
    ``r / k`` and, since the price of the sum may not exceed the largest entry, ``first / (rho k)``.
    """
    most = r / k
    if rho > 0.0:
        most = min(most, first / (rho * k))
    return last - most


@jit
def find_price(b, k, rho, r, origin, t):
    """Return what the objective would gain by a larger sum, where the sum is `r`  [TK, Lemma 5].

    Below 0 the sum should be smaller: the knapsack does not hold the solution.
    """
    p = 0.0
    for j in range(len(b)):
        p += max(0.0, (np.float64(b[j]) - origin) - t - r / k)
    return origin + t + p / k - rho * r


@jit
def order_from(b, bound):
    """Return the entries from a bound on, float64 and in descending order."""
    chosen = np.empty(len(b), np.float64)
    n = 0
    for j in range(len(b)):
        if b[j] >= bound:
            chosen[n] = b[j]
            n += 1
    sort_down(chosen[:n])
    return chosen[:n]


@jit
def find_thresholds(b, k, rho, r):
    """Return origin, t and u with ``x = min(max(0, (b - origin) - t), u)``; u is 0 where x is.

    Parameters
    ----------
    b : float array of at least `k` entries.
    """
    top = select_largest(b, k)
    if top.sum() <= 0.0:  # [TK, Lemma 4], which is exact for every rho
        return 0.0, 0.0, 0.0
    first = top[0]
    t = find_threshold(b.astype(np.float64) - first, r / k, r, 0.0)
    if find_price(b, k, rho, r, first, t) >= 0.0:
        return first, t, r / k
    # Entries at the bound may be zero or not, whatever the rounding: a little below it is safe.
    bound = bound_threshold(first, top[k - 1], k, rho, r)
    bound -= 1e-9 * (abs(bound) + abs(first))
    t, u = walk(order_from(b, min(bound, top[k - 1])), k, rho, r / k)
    return 0.0, t, u


@jit
def project(b, x, k, rho, r):
    """Write the solution to `x`.

    Parameters
    ----------
    b, x : float arrays of shape (n,); `x` is written.
    k : from 1 on; for ``k > n`` only zero is left.
    rho : the price of the sum, from 0 on.
    r : the bound of the sum.
    """
    if k > len(b):
        x[:] = 0.0
        return
    origin, t, u = find_thresholds(b, k, rho, r)
    cut(b, x, origin, t, u)
