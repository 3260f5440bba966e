"""What all projections share: cutting at two thresholds, and the largest entries in order."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit

FEW = 32
"""Up to so many largest entries, keeping a short sorted list is faster than sorting all."""


@inlined
def cut(b, x, origin, t, u):
    """Write ``x = min(max(0, (b - origin) - t), u)``.

    Thresholds are kept relative to an origin near the entries that matter, because their
    differences may be far smaller than they are.
    """
    for j in range(len(b)):
        x[j] = min(max(0.0, (np.float64(b[j]) - origin) - t), u)


@jit
def select_largest(b, k):
    """Return the `k` largest entries, float64 and in descending order; k <= len(b)."""
    if k > FEW:
        return np.sort(b.astype(np.float64))[::-1][:k].copy()
    top = np.full(k, -np.inf)
    least = -np.inf
    for j in range(len(b)):
        if b[j] > least:
            place = k - 1
            while place > 0 and b[j] > top[place - 1]:
                top[place] = top[place - 1]
                place -= 1
            top[place] = b[j]
            least = top[k - 1]
    return top
