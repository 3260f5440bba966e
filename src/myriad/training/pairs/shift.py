"""Projection onto the variables of TopPush: as much on positives as on negatives, none below zero.

The nearest such point to (a, b) is ``[a - t]_+`` and ``[b + t]_+`` with t the root of the
decreasing, piecewise linear function ``sum [a - t]_+ - sum [b + t]_+``.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit

ROUNDS = 200


@jit
def shift_to_balance(A, labels, problems, shifts):
    """Project the variables of each problem, in place.

    Parameters
    ----------
    A : float64 array of shape (n_rows, n_classes), changed in place.
    labels : int32 array of shape (n_rows,), whose entries are the positives.
    problems : int64 array of shape (n_classes,), the problem that each class belongs to.
    shifts : float64 array of shape (n_problems,), where the search for each t begins; changed to
        the roots.
    """
    lows, highs = bracket_shifts(A, labels, problems, len(shifts))
    for p in range(len(shifts)):
        shifts[p] = min(max(shifts[p], lows[p]), highs[p])
    excess, counts = np.empty(len(shifts)), np.empty(len(shifts))
    for _ in range(ROUNDS):
        sum_shifted(A, labels, problems, shifts, excess, counts)
        moved = False
        for p in range(len(shifts)):
            moved |= move_shift(p, shifts, lows, highs, excess, counts)
        if not moved:
            break
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            t = shifts[problems[c]]
            A[i, c] = max(0.0, A[i, c] - t if c == labels[i] else A[i, c] + t)


@jit
def bracket_shifts(A, labels, problems, n_problems):
    """Return where t lies for each problem: all negatives, or all positives, would be zero."""
    highest_own, highest = np.full(n_problems, -np.inf), np.full(n_problems, -np.inf)
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            p = problems[c]
            if c == labels[i]:
                highest_own[p] = max(highest_own[p], A[i, c])
            else:
                highest[p] = max(highest[p], A[i, c])
    lows = np.where(np.isfinite(highest), -highest, highest_own)
    # Where every positive would be zero before any negative is, all are: any t between serves.
    return lows, np.maximum(lows, highest_own)


@jit
def sum_shifted(A, labels, problems, shifts, excess, counts):
    """Set the value of the function of each problem at its t, and how many terms are not zero."""
    excess[:] = 0.0
    counts[:] = 0.0
    for i in range(A.shape[0]):
        for c in range(A.shape[1]):
            p = problems[c]
            own = c == labels[i]
            value = A[i, c] - shifts[p] if own else A[i, c] + shifts[p]
            if value > 0.0:
                excess[p] += value if own else -value
                counts[p] += 1.0


@jit
def move_shift(p, shifts, lows, highs, excess, counts):
    """Move a t to the root of the linear piece, or halve its bracket; return whether it moved.

    A root at an end of the bracket is not taken: the function is neither convex nor concave, and
    the roots of two pieces may lead to each other for ever.
    """
    t = shifts[p]
    if excess[p] > 0.0:
        lows[p] = t
    else:
        highs[p] = t
    if counts[p] == 0.0 or excess[p] == 0.0:
        return False
    root = t + excess[p] / counts[p]
    if not lows[p] < root < highs[p]:
        root = 0.5 * (lows[p] + highs[p])
    shifts[p] = root
    return abs(root - t) > 1e-15 * max(abs(root), abs(t))
