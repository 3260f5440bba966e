"""The losses of one class against the rest, by number: what a kernel can choose from.

A kernel takes the number, because a function handed to a kernel would miss the disk cache.
"""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives import BINARY_LOSSES, hinge, logistic, squared

HINGE, LOGISTIC, SQUARED = (BINARY_LOSSES[name] for name in ("hinge", "logistic", "squared"))


@inlined
def binary_value(loss, sign, score):
    """Return the value of loss number `loss` for a score and a sign of +1 or -1."""
    if loss == HINGE:
        return hinge.value(sign, score)
    if loss == LOGISTIC:
        return logistic.value(sign, score)
    return squared.value(sign, score)


@inlined
def binary_step(loss, sign, score):
    """Return the coefficient of the row in the step of loss number `loss`."""
    if loss == HINGE:
        return hinge.step(sign, score)
    if loss == LOGISTIC:
        return logistic.step(sign, score)
    return squared.step(sign, score)
