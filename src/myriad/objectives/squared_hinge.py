"""The squared hinge loss, ``max(0, 1 - z s)^2``: LIBLINEAR's default, trained in the dual here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    violation = max(0.0, 1.0 - sign * score)
    return violation * violation


def dual_bounds(weights: NDArray[Any], lam: float) -> tuple[Any, Any]:
    """Return the upper bound of the dual variables and their ridge; see `objectives.binary`."""
    with np.errstate(divide="ignore"):  # a row that does not count has no dual
        return np.inf, lam / (2 * weights)
