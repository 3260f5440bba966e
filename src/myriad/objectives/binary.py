"""The binary losses, in kernels that choose among them by number; see `myriad.objectives`.

In the dual, a loss is given by two constants for each row. With the weight c of the row's loss,
``c loss(m) = lam max_v (v (1 - m) - ridge v^2 / 2)`` over ``0 <= v <= upper``: the dual variable v
of the row has an upper bound and a ridge, which ``dual_bounds`` of the loss's file returns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from numpy.typing import NDArray

from myriad._jit import inlined
from myriad.objectives import BINARY_LOSSES, DUAL_LOSSES, SMOOTH_LOSSES

HINGE = BINARY_LOSSES["hinge"]


def _choose_by_number(losses: Mapping[str, int], kernel: str) -> Any:
    """Return a kernel ``(loss, sign, score)`` that calls the kernel of this name of a loss's file.

    It is a chain of comparisons, ``if loss == 0 ... else if loss == 1 ...``, all of it inlined into
    the calling kernel.
    """
    chosen = _unknown
    for name, number in losses.items():
        chosen = _choose(number, getattr(_find_file(name), kernel), chosen)
    return chosen


def _find_file(name: str) -> Any:
    """Return the module of a loss."""
    return resolve_name(f"myriad.objectives.{name}")


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


binary_value = _choose_by_number(BINARY_LOSSES, "value")
"""``binary_value(loss, sign, score)``: the loss of a score for a sample of sign +1 or -1."""

binary_step = _choose_by_number(BINARY_LOSSES, "step")
"""``binary_step(loss, sign, score)``: the coefficient of the row in an SGD step, minus the
derivative of the loss with respect to the score."""

dual_value = _choose_by_number(DUAL_LOSSES, "value")
"""``dual_value(loss, sign, score)``: the same as `binary_value` for the losses of the dual."""

smooth_value = _choose_by_number(SMOOTH_LOSSES, "value")
"""``smooth_value(loss, sign, score)``: the same as `binary_value` for the smooth losses."""

smooth_step = _choose_by_number(SMOOTH_LOSSES, "step")
"""``smooth_step(loss, sign, score)``: the same as `binary_step` for the smooth losses."""

smooth_curvature = _choose_by_number(SMOOTH_LOSSES, "curvature")
"""``smooth_curvature(loss, sign, score)``: the second derivative with respect to the score."""


def curvature_bound(loss: str) -> float:
    """Return the largest second derivative of a smooth loss."""
    bound: float = _find_file(loss).CURVATURE
    return bound


def dual_bounds(loss: str, weights: NDArray[Any], lam: float) -> tuple[Any, Any]:
    """Return the upper bounds and the ridges of the dual variables of rows with these weights."""
    bounds: tuple[Any, Any] = _find_file(loss).dual_bounds(weights, lam)
    return bounds
