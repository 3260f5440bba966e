"""The hinge, ``max(0, 1 - z s)``: the loss of the support vector machine."""

from __future__ import annotations

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    return max(0.0, 1.0 - sign * score)


@inlined
def step(sign, score):
    """Return the coefficient of the row in the step, minus the slope of the loss [GP, Table 1]."""
    return sign if sign * score < 1.0 else 0.0
