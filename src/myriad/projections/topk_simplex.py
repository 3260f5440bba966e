"""The top-k simplex of the alpha loss  [TK, 2.2.1 and 4.3].

``min |b - x|^2 + rho (1'x)^2`` over ``1'x <= r``, ``0 <= x_j <= 1'x / k``: the domain of the
conjugate of the mean of the k largest, clipped at zero. Where the sum reaches r it is the knapsack
with the upper bound r / k; where it does not, the top-k cone. For k = 1 it is the simplex.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.largest import select_largest
from myriad.projections.knapsack import clip, find_threshold
from myriad.projections.topk_cone import find_cone_thresholds, sort_candidates


@jit
def find_multiplier(b, k, rho, r, origin, t):
    """Return the multiplier of the constraint ``1'x <= r`` at the knapsack's t  [TK, Lemma 5].

    It is ``t + p / k - rho r`` with ``p = sum over U of b - (t + u)``; the paper prints p / k as
    kp. Below 0 the sum should be smaller: the solution is not that of the knapsack.
    """
    p = 0.0
    for j in range(len(b)):
        p += max(0.0, (np.float64(b[j]) - origin) - t - r / k)
    return origin + t + p / k - rho * r


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
    if find_multiplier(b, k, rho, r, first, t) >= 0.0:
        return first, t, r / k
    t, u = find_cone_thresholds(sort_candidates(b, top, rho, r), k, rho, r / k)
    return 0.0, t, u


@jit
def project(b, x, k, rho, r):
    """Write the solution to `x`.

    Parameters
    ----------
    b, x : float arrays of shape (n,); `x` is written.
    k : from 1 on; for ``k > n`` only zero is left.
    rho : the penalty on the squared sum, from 0 on.
    r : the bound of the sum.
    """
    if k > len(b):
        x[:] = 0.0
        return
    origin, t, u = find_thresholds(b, k, rho, r)
    clip(b, x, origin, t, u)
