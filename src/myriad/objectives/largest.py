"""The largest entries of an array, in order."""

from __future__ import annotations

import numpy as np

from myriad._jit import jit

FEW = 32
"""Up to so many, keeping a short sorted list is faster than sorting all."""


@jit
def select_largest(values, k):
    """Return the `k` largest entries, float64 and in descending order; k <= len(values)."""
    if k > FEW:
        return np.sort(values.astype(np.float64))[::-1][:k].copy()
    top = np.full(k, -np.inf)
    least = -np.inf
    for j in range(len(values)):
        if values[j] > least:
            place = k - 1
            while place > 0 and values[j] > top[place - 1]:
                top[place] = top[place - 1]
                place -= 1
            top[place] = values[j]
            least = top[k - 1]
    return top
