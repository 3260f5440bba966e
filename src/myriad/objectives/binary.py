"""The binary losses as one kernel that chooses among them by number; see `myriad.objectives`."""

from __future__ import annotations

import math
from pkgutil import resolve_name
from typing import Any

from myriad._jit import inlined
from myriad.objectives import BINARY_LOSSES

HINGE = BINARY_LOSSES["hinge"]


def _choose_by_number(kernel: str) -> Any:
    """Return a kernel ``(loss, sign, score)`` that calls the kernel of this name of a loss's file.

    It is a chain of comparisons, ``if loss == 0 ... else if loss == 1 ...``, all of it inlined into
    the calling kernel.
    """
    chosen = _unknown
    for name, number in BINARY_LOSSES.items():
        module = resolve_name(f"myriad.objectives.{name}")
        chosen = _choose(number, getattr(module, kernel), chosen)
    return chosen


@inlined
def _unknown(loss, sign, score):
    """Return NaN, for a number that is not in the registry."""
    return math.nan


def _choose(number: int, kernel: Any, otherwise: Any) -> Any:
    @inlined
    def choose(loss, sign, score):
        if loss == number:
            return kernel(sign, score)
        return otherwise(loss, sign, score)

    return choose


binary_value = _choose_by_number("value")
"""``binary_value(loss, sign, score)``: the loss of a score for a sample of sign +1 or -1."""

binary_step = _choose_by_number("step")
"""``binary_step(loss, sign, score)``: the coefficient of the row in an SGD step, minus the
derivative of the loss with respect to the score."""
