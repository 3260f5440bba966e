"""The largest entries of an array, in order."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit

SMALL_K = 32
"""Up to this `k`, inserting into a short sorted list is faster than sorting all (measured)."""
STRIP = 16
"""Entries that are compared with a bound together, which takes a few vector instructions."""


@inlined
def count_above(values, start, stop, bound):
    """Return how many entries from `start` to ``stop - 1`` are above a bound."""
    count = 0
    for j in range(start, stop):
        count += values[j] > bound
    return count


@jit
def sort_down(values):
    """Sort float64 values in place, the largest first.

    Shell's sort, with gaps that grow by 2.25: fast on the short arrays that it is used for,
    and quickly compiled.
    """
    n = len(values)
    gap = 1
    while gap < n // 2:
        gap = int(2.25 * gap) + 1
    while gap > 0:
        for i in range(gap, n):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] < value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = int(gap / 2.25)


@jit
def select_largest(values, k):
    """Return the `k` largest entries, float64 and in descending order; k <= len(values)."""
    if k > SMALL_K:
        ordered = values.astype(np.float64)
        sort_down(ordered)
        return ordered[:k]
    top = np.full(k, -np.inf)  # invariant: the k largest so far, in descending order
    least = values.dtype.type(-np.inf)
    for start in range(0, len(values), STRIP):
        stop = min(start + STRIP, len(values))
        if count_above(values, start, stop, least) == 0:
            continue
        for j in range(start, stop):
            if values[j] > least:
                # Insertion: smaller entries move down by one, and the last falls out.
                position = k - 1
                while position > 0 and values[j] > top[position - 1]:
                    top[position] = top[position - 1]
                    position -= 1
                top[position] = values[j]
                least = values.dtype.type(top[k - 1])
    return top
