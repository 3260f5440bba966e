"""The top-k cone: ``min |b - x|^2 + rho (1'x)^2`` over ``0 <= x_j <= 1'x / k``  [TK, 4.2].

The solution is ``x = min(max(0, b - t), u)`` with ``u = 1'x / k``. [TK] tries every number of
entries at the upper bound (U) with every number of those between the bounds (M). Here one pass
finds them: for a fixed u solve for t; as u grows from 0, t falls and t + u rises, so both U and the
zeros only ever lose entries, at most 2 n times in all; and the derivative of the objective along
this path rises, so that the pass ends where it reaches 0.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest, sort_down
from myriad.projections.knapsack import clip


@inlined
def bound_threshold(first, last, k, rho, r):
    """Return a lower bound of t: entries up to it are zero in the solution.

    Along the path t + u is at least the k-th largest entry, `last`, and u is at most ``r / k`` (`r`
    is infinite for the cone) and, since rho times the sum may not exceed the largest entry,
    ``first / (rho k)``.
    """
    most = r / k
    if rho > 0.0:
        most = min(most, first / (rho * k))
    return last - most


@jit
def sort_candidates(b, top, rho, r):
    """Return the entries that may be above zero, float64 and in descending order.

    Parameters
    ----------
    top : the k largest entries, in descending order.
    """
    k = len(top)
    bound = bound_threshold(top[0], top[k - 1], k, rho, r)
    # Rounding decides whether entries at the bound are zero: a little below it is safe.
    bound = min(bound - 1e-9 * (abs(bound) + abs(top[0])), top[k - 1])
    chosen = np.empty(len(b), np.float64)
    n = 0
    for j in range(len(b)):
        if b[j] >= bound:
            chosen[n] = b[j]
            n += 1
    sort_down(chosen[:n])
    return chosen[:n]


@jit
def find_cone_thresholds(top, k, rho, most):
    """Return the thresholds t and u of the solution, u being at most `most`.

    Parameters
    ----------
    top : float64 array in descending order, of at least `k` entries, the first `k` of which have a
        positive sum.
    most : a bound of u; infinity for the cone.
    """
    n = len(top)
    n_upper, n_above = k, k  # entries in U, and in U and M
    upper = top[:k].sum()
    middle = 0.0
    u = upper / (k + rho * k * k)
    if n == k or min(u, most) <= top[k - 1] - top[k]:
        u = min(u, most)
        return top[k - 1] - u, u
    # With |U| = k and M empty, t is free; at the first breakpoint an entry leaves U and one enters
    # M at once, whatever the value of t.
    n_upper, n_above = k - 1, k + 1
    upper -= top[k - 1]
    middle = top[k - 1] + top[k]
    while True:
        n_middle, missing = n_above - n_upper, k - n_upper
        # [TK, Lemma 3]: where the derivative would be 0, if U and M stayed as they are.
        size = missing * missing + (n_upper + rho * k * k) * n_middle
        u = min(most, max(0.0, (missing * middle + n_middle * upper) / size))
        # The next breakpoints: at u = low an entry leaves the zeros, at u = high one leaves U.
        low = high = np.inf
        if n_above < n:
            low = (middle - n_middle * top[n_above]) / missing
        if n_upper > 0:
            high = (n_middle * top[n_upper - 1] - middle) / (n_above - k)
        if u <= low and u <= high:
            return (middle - missing * u) / n_middle, u
        if low <= high:
            middle += top[n_above]
            n_above += 1
        else:
            n_upper -= 1
            upper -= top[n_upper]
            middle += top[n_upper]


@jit
def project(b, x, k, rho):
    """Write the solution to `x`.

    Parameters
    ----------
    b, x : float arrays of shape (n,); `x` is written.
    k : from 1 on; for ``k > n`` only zero is left.
    rho : the penalty on the squared sum, from 0 on.
    """
    x[:] = 0.0
    if k > len(b):
        return
    top = select_largest(b, k)
    if top.sum() <= 0.0:  # [TK, Lemma 4], which is exact for every rho
        return
    t, u = find_cone_thresholds(sort_candidates(b, top, rho, np.inf), k, rho, np.inf)
    clip(b, x, 0.0, t, u)
