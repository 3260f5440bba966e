"""The hinge loss, ``max(0, 1 - z s)``: that of the support vector machine."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    return max(0.0, 1.0 - sign * score)


@inlined
def step(sign, score):
    """Return the coefficient of the row in a step, minus the derivative [GP, Table 1]."""
    return sign if sign * score < 1.0 else 0.0


def dual_bounds(weights: NDArray[Any], lam: float) -> tuple[Any, Any]:
    """Return the upper bound of the dual variables and their ridge; see `objectives.binary`."""
    return weights / lam, 0.0
