"""The squared loss, ``(z - s)^2``: ridge regression on the signs."""

from __future__ import annotations

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    return (sign - score) ** 2


@inlined
def step(sign, score):
    """Return the coefficient of the row in a step, minus the derivative.

    The slides [LS] leave out the factor 2.
    """
    return 2.0 * (sign - score)
