"""What all projections share: entries cut at two thresholds."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined


@inlined
def cut(b, x, origin, t, u):
    """Write ``x = min(max(0, (b - origin) - t), u)``.

    Thresholds are kept relative to an origin near the entries that matter, because their
    differences may be far smaller than they are.
    """
    for j in range(len(b)):
        x[j] = min(max(0.0, (np.float64(b[j]) - origin) - t), u)
