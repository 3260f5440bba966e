"""The squared hinge loss, ``max(0, 1 - z s)^2``: LIBLINEAR's default.

It is trained in the dual, or by coordinate descent in the primal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined

CURVATURE = 2.0
"""The largest second derivative."""


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    violation = max(0.0, 1.0 - sign * score)
    return violation * violation


@inlined
def step(sign, score):
    """Return minus the derivative with respect to the score, ``2 z max(0, 1 - z s)``."""
    return 2.0 * sign * max(0.0, 1.0 - sign * score)


@inlined
def curvature(sign, score):
    """Return the second derivative; at the corner, where it jumps, that of the quadratic part."""
    return 2.0 if sign * score <= 1.0 else 0.0


def dual_bounds(weights: NDArray[Any], lam: float) -> tuple[Any, Any]:
    """Return the upper bound of the dual variables and their ridge; see `objectives.binary`."""
    with np.errstate(divide="ignore"):  # a row that does not count has no dual
        return np.inf, lam / (2 * weights)
