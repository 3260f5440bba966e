"""The logistic loss, ``log(1 + exp(-z s))``."""

from __future__ import annotations

import math

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    margin = sign * score
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@inlined
def step(sign, score):
    """Return the coefficient of the row in the step, minus the slope of the loss [LS]."""
    margin = sign * score
    small = math.exp(-abs(margin))
    return sign * (small if margin > 0.0 else 1.0) / (1.0 + small)
