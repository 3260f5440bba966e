"""The minimum time of several runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


def best_of(run: Callable[[], object], repeats: int) -> float:
    """Return the minimum time of some runs, after one to warm up."""
    run()
    best = math.inf
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best
