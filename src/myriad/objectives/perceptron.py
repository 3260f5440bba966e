"""The loss of the perceptron, ``max(0, -z s)``: a step for each row on the wrong side [LS].

A baseline: without a margin, training ends as soon as all rows are on the right side.
"""

from __future__ import annotations

from myriad._jit import inlined


@inlined
def value(sign, score):
    """Return the loss of a score for a sample of sign +1 or -1."""
    return max(0.0, -sign * score)


@inlined
def step(sign, score):
    """Return the coefficient of the row in a step, minus the derivative.

    A score of 0 counts as wrong: weights of zero would never change otherwise.
    """
    return sign if sign * score <= 0.0 else 0.0
