"""The simplex: ``min |b - x|^2`` over ``x >= 0``, ``1'x <= r`` or ``1'x = r``.

It is the knapsack whose entries have no upper bound of their own.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.projections import knapsack


@jit
def project(b, x, r, equal):
    """Write the solution to `x`; see `knapsack.project`."""
    knapsack.project(b, x, np.inf, r, equal)
