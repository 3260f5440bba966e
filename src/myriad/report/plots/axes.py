"""Axes: the position of a value between two ends, and the ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from myriad.report.wording import show_number

WIDE = 8.0  # a range of this factor or more is shown on a logarithmic axis


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high` with named values; logarithmic if `log`."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def locate(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return (value - low) / (high - low)


def make_percent_axis(values: Sequence[float]) -> Axis:
    """Return an axis of percentages around `values`, at least ten points wide, within 0 to 100."""
    low, high = min(values), max(values)
    if high - low < 10:
        middle = (low + high) / 2
        low, high = middle - 5, middle + 5
    low, high = max(0.0, low), min(100.0, high)
    step = _choose_step(high - low, 5)
    low = max(0.0, math.floor(low / step) * step)
    high = min(100.0, math.ceil(high / step) * step)
    return Axis(low, high, _make_ticks(low, high, step))


def make_whole_percent_axis() -> Axis:
    """Return the axis from 0 to 100 per cent."""
    return Axis(0.0, 100.0, _make_ticks(0, 100, 20))


def make_count_axis(largest: float) -> Axis:
    """Return an axis of whole numbers from 0 to at least `largest`."""
    step = max(1.0, _choose_step(largest, 5))
    high = max(1.0, math.ceil(largest / step) * step)
    return Axis(0.0, high, _make_ticks(0, high, step))


def make_step_axis(first: float, last: float, *, most: int = 10, room: float = 0.5) -> Axis:
    """Return an axis of whole numbers such as epochs, with `room` on both sides."""
    step = max(1.0, _choose_step(last - first, most))
    start = first if last - first < most else math.ceil(first / step) * step
    return Axis(first - room, last + room, _make_ticks(start, last, step))


def make_value_axis(values: Sequence[float], *, most: int = 6) -> Axis:
    """Return an axis around positive or any values, logarithmic when they range widely."""
    low, high = min(values), max(values)
    if low > 0 and high / low >= WIDE:
        return _make_log_axis(low, high, most)
    if low == high:
        low, high = low - max(abs(low), 1) / 2, high + max(abs(high), 1) / 2
    room = (high - low) * 0.06
    step = _choose_step(high - low, most)
    if all(value == int(value) for value in values):
        step = max(1.0, step)
    return Axis(low - room, high + room, _make_ticks(math.ceil(low / step) * step, high, step))


def _make_log_axis(low: float, high: float, most: int) -> Axis:
    room = (high / low) ** 0.05
    for factors in ((1, 2, 5), (1, 3), (1,)):
        values = [
            factor * 10.0**power
            for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for factor in factors
        ]
        values = [value for value in values if low / room <= value <= high * room]
        if len(values) <= most:
            break
    values = values[:: math.ceil(len(values) / most)]
    ticks = tuple((value, show_number(float(f"{value:.3g}"))) for value in values)
    return Axis(low / room, high * room, ticks, log=True)


def _choose_step(span: float, most: int) -> float:
    """Return a round step (1, 2 or 5 times a power of ten) that cuts `span` into <= `most`."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (factor * power) <= most + 1e-9:
            return factor * power
    return 10 * power


def _make_ticks(low: float, high: float, step: float) -> tuple[tuple[float, str], ...]:
    count = math.floor((high - low) / step + 1e-9) + 1
    values = (low + step * i for i in range(count))
    return tuple((value, show_number(float(f"{value:.6g}"))) for value in values)
