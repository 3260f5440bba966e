"""The logistic loss, ``log(1 + exp(-z s))``."""

from __future__ import annotations

import math

from myriad._jit import inlined

CURVATURE = 0.25
"""The largest second derivative."""


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    margin = sign * score
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@inlined
def step(sign, score):
    """Return the coefficient of the row in a step, minus the derivative [LS]: z / (1 + e^(z s))."""
    margin = sign * score
    small = math.exp(-abs(margin))  # at most 1, whatever the sign of the margin: no overflow
    return sign * (small if margin > 0.0 else 1.0) / (1.0 + small)


@inlined
def curvature(sign, score):
    """Return the second derivative with respect to the score, ``p (1 - p)``."""
    small = math.exp(-abs(score))
    return small / ((1.0 + small) * (1.0 + small))
