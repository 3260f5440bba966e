"""Dual steps of the top-k entropy loss through a block of rows  [LHS, Proposition 10].

As in `topk_kernels`, row i has variables ``x = r z``, one per wrong class, its dual column is ``a_c
= -x_c``, ``a_y = 1'x``, and q are its products with the weights without its own part. With ``h_c =
q_c - q_y``, ``kappa = r |x_i|^2`` and ``s = 1'z``, a step maximises

    <z, h> - kappa/2 (|z|^2 + s^2) - sum z_c log z_c - (1 - s) log(1 - s)

over the top-k simplex ``0 <= z_c <= s / k``. The solution is ``z_c = min(v_c, s / k)`` where
``kappa v_c + log v_c = h_c - t``, so that s follows from t, and t is the root of an increasing
function; see `find_excess`.

All variables are positive, but most are tiny. Those that cannot matter for the gap are dropped, so
that the others can be stored as sparse variables.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest
from myriad.objectives.softmax import exponentiate

MOST_STEPS = 100
"""Maximum number of Newton steps in a search for a root, which takes about 6."""
EXACT = 1e-12
"""Relative tolerance of t."""
NEARLY = 1e-7
"""Error of log v at which the Newton step just made is the last, as it squares the error."""
FAR = 50.0
"""Maximum decrease of t in a step, so that no exponential overflows."""
NEVER = -1e30
"""The h of the label, which has no variable."""
LEAST = 1e-30
"""Variables below this fraction of the radius are always dropped."""


class Workspace(NamedTuple):
    """Work space of a step, float64 arrays of shape (n_classes,).

    Attributes
    ----------
    h : products of the wrong classes minus that of the label.
    logs, v : log v and v.
    powers : work space of `exponentiate`.
    """

    h: Any
    logs: Any
    v: Any
    powers: Any


@jit
def step_entropy(gram, labels, S, Z, A, setting, drop):
    """Step through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels : int32 array of shape (B,)
    S : float array of shape (B, n_classes), products of rows and weights; overwritten.
    Z : float64 array of shape (B, n_classes), the variables as fractions z of the radius; replaced
        by the new ones.
    A : float array of shape (B, n_classes); set to the changes of the weights, as multiples of the
        rows.
    setting : array of `TOPK` of one entry, see `topk_kernels`.
    drop : small variables are dropped whose sum is at most this fraction of the sum of a row.
    """
    k, r, n_classes = setting[0].k, setting[0].r, S.shape[1]
    arrays = np.empty((4, n_classes), np.float64)
    work = Workspace(arrays[0], arrays[1], arrays[2], arrays[3])
    for i in range(len(labels)):
        z, label = Z[i], labels[i]
        kappa = r * np.float64(gram[i, i])
        for j in range(i):  # S_i becomes W x_i with the current W
            g = gram[i, j]
            for c in range(n_classes):
                S[i, c] += g * A[j, c]
        total = z.sum()
        truth = S[i, label] - kappa * total
        for c in range(n_classes):
            work.h[c] = (S[i, c] + kappa * z[c]) - truth
            A[i, c] = r * z[c]
        work.h[label] = NEVER
        A[i, label] = -r * total
        s = find_fractions(work, z, label, k, kappa, drop)
        for c in range(n_classes):
            A[i, c] -= r * z[c]
        A[i, label] += r * s


@jit
def find_fractions(work, z, label, k, kappa, drop):
    """Write the solution of a row's problem to `z`, as fractions of the radius; return its sum."""
    find_root(work, k, kappa)
    s, _ = cap_fractions(work.v, k)
    # The dropped variables add up to at most `drop` of s. Without them s is smaller, so the others
    # are capped again: the row stays in its feasible set.
    least = max(drop * s / len(z), LEAST)
    for c in range(len(z)):
        if work.v[c] < least or c == label:
            work.v[c] = 0.0
    s, _ = cap_fractions(work.v, k)
    total = 0.0
    for c in range(len(z)):
        z[c] = min(work.v[c], s / k)
        total += z[c]
    return total


@jit
def find_root(work, k, kappa):
    """Write the v of the root t of `find_excess`, by Newton's method with a bracket.

    The first t is the root for kappa = 0 and k = 1; for a larger kappa or k the sum of the
    variables at this t is smaller, and so below 1.
    """
    t = init_logs(work, kappa)
    low, high = -np.inf, np.inf
    for _ in range(MOST_STEPS):
        excess, slope = find_excess(work, t, k, kappa)
        if abs(excess) <= EXACT * (1.0 + abs(t)):
            return
        if excess < 0.0:
            low = t
        else:
            high = t
        new = max(t - excess / slope, t - FAR)
        if not low < new < high:  # also where the slope is infinite or not a number
            if high - low <= EXACT * (1.0 + abs(t)) or not high - low < np.inf:
                break
            new = 0.5 * (low + high)
        shift_logs(work, t, new, kappa)
        t = new
    if t != high and high < np.inf:  # the sum of the variables is below 1 at the upper bound
        shift_logs(work, t, high, kappa)
        find_values(work, high, kappa)


@jit
def init_logs(work, kappa):
    """Return the initial t, ``log(1 + sum exp(h))``, and write an initial log v of each class."""
    top = 0.0
    for c in range(len(work.h)):
        top = max(top, work.h[c])
    for c in range(len(work.h)):
        work.v[c] = work.h[c] - top
    exponentiate(work.v, work.powers)
    t = top + math.log(math.exp(-top) + work.v.sum())
    # Above the root of kappa v + log v = a, from where Newton's method in log v is monotone.
    scale = math.log(kappa) if kappa > 0.0 else -np.inf
    for c in range(len(work.h)):
        a = work.h[c] - t
        work.logs[c] = a if a + scale <= 1.0 else math.log(a + scale) - scale
    return t


@inlined
def shift_logs(work, t, new, kappa):
    """Update each log v to first order for a change from `t` to `new`."""
    for c in range(len(work.h)):
        work.logs[c] -= (new - t) / (1.0 + kappa * work.v[c])


@jit
def find_values(work, t, kappa):
    """Solve ``kappa v + log v = h - t`` for each class, starting from the current log v."""
    for _ in range(MOST_STEPS):
        for c in range(len(work.h)):
            work.v[c] = work.logs[c]
        exponentiate(work.v, work.powers)
        worst = 0.0
        for c in range(len(work.h)):
            error = (work.h[c] - t - work.logs[c]) - kappa * work.v[c]
            step = error / (1.0 + kappa * work.v[c])
            work.logs[c] += step
            work.v[c] += work.v[c] * step
            worst = max(worst, abs(step))
        if worst <= NEARLY:
            return


@jit
def find_excess(work, t, k, kappa):
    """Return the function of t whose root is the solution, and its positive derivative.

    With u classes at their bound s / k, and their multipliers ``l_c = h_c - t - kappa s / k - log(s
    / k)``, it is ``t - kappa s + log(1 - s) + sum l_c / k``; minus infinity where t is so small
    that s is 1 or more.
    """
    find_values(work, t, kappa)
    s, u = cap_fractions(work.v, k)
    if s >= 1.0:
        return -np.inf, np.inf
    multipliers = falls = 0.0
    for c in range(len(work.h)):
        if u > 0 and work.v[c] > s / k:
            multipliers += work.h[c] - t - kappa * s / k - math.log(s / k)
        else:
            falls += work.v[c] / (1.0 + kappa * work.v[c])
    share = u / k
    falls /= 1.0 - share  # minus the derivative of s
    excess = t - kappa * s + math.log1p(-s) + multipliers / k
    rises = kappa + 1.0 / (1.0 - s)
    if u > 0:
        rises += share * (kappa / k + 1.0 / s)
    return excess, 1.0 - share + falls * rises


@jit
def cap_fractions(v, k):
    """Return the s with ``s = sum min(v_c, s / k)``, and the number of classes at the bound s / k.

    It is 0 if fewer than k values are positive.
    """
    if k == 1:
        return v.sum(), 0
    top = select_largest(v, k)
    last = top[k - 1]
    rest, equal = 0.0, -k
    for c in range(len(v)):
        if v[c] >= last:
            equal += 1
        else:
            rest += v[c]
    rest += equal * last
    # From the small terms to the large ones, as in `topk_entropy.find_gain`.
    s, n_upper = 0.0, k
    for u in range(k - 1, -1, -1):
        rest += top[u]
        if u < k - 1 and top[u] > rest / (k - u):
            break
        s, n_upper = rest / (1.0 - u / k), u
    return s, n_upper


@jit
def scatter_fractions(variables, r, Z):
    """Write a `SparseBlock` of variables to `Z` (B, n_classes), divided by the radius `r`."""
    for i in range(len(Z)):
        for c in range(Z.shape[1]):
            Z[i, c] = 0.0
        for m in range(variables.counts[i]):
            Z[i, variables.classes[i, m]] = variables.values[i, m] / r


@jit
def gather_fractions(Z, r, variables):
    """Write the positive entries of `Z`, times the radius, into a `SparseBlock`."""
    for i in range(len(Z)):
        n = 0
        for c in range(Z.shape[1]):
            if Z[i, c] > 0.0:
                variables.classes[i, n], variables.values[i, n] = c, r * Z[i, c]
                n += 1
        variables.counts[i] = n
