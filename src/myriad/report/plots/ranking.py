"""Candidates side by side: their accuracies, and what their training cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from myriad.report.plots.axes import Axis, make_percent_axis, make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.plots.series import LINE_GAP, shorten, spread
from myriad.report.wording import show_percent, show_seconds

ROW = 28


@dataclass(frozen=True)
class Entry:
    """A candidate: top-1 accuracy on validation and test rows, None where unknown, and seconds."""

    name: str
    validation: float | None
    test: float | None
    seconds: float | None


class _Listed(Canvas):
    """A canvas with room for names on the left."""

    left = 110.0
    right = 24.0


class _Noted(Canvas):
    """A canvas with room for names beside the last dots."""

    right = 90.0


def plot_ranking(entries: Sequence[Entry]) -> Markup | None:
    """Draw a line a candidate with a dot for each split, the first on top."""
    known = [item for item in entries if item.validation is not None or item.test is not None]
    if not known:
        return None
    last = len(known) - 1
    ticks = tuple((float(last - i), shorten(item.name)) for i, item in enumerate(known))
    parts = {"validation": "series-1", "test": "series-2"}
    values = [
        value for item in known for part in parts if (value := getattr(item, part)) is not None
    ]
    canvas = _Listed(
        make_percent_axis(values),
        Axis(-0.6, last + 0.6, ticks),
        x_title="top-1 accuracy over samples, %",
        y_title="",
        height=76 + ROW * len(known),
    )
    key = []
    for part, kind in parts.items():
        dots = [
            (value, float(last - i), f"{item.name}, {part}: {show_percent(value)} top-1")
            for i, item in enumerate(known)
            if (value := getattr(item, part)) is not None
        ]
        if dots:
            key.append((kind, part))
            canvas.add_dots(dots, kind, 6.0)
    canvas.add_key(key)
    told = "; ".join(
        f"{item.name}: validation {show_percent(item.validation)}, test {show_percent(item.test)}"
        for item in known
    )
    return canvas.render(f"Top-1 accuracy of each objective. {told}.")


def plot_costs(entries: Sequence[Entry]) -> Markup | None:
    """Draw top-1 accuracy on validation rows against the time that training took."""
    known = [
        (max(item.seconds, 0.01), item.validation, item)
        for item in entries
        if item.seconds is not None and item.validation is not None
    ]
    if len(known) < 2:
        return None
    axis = make_value_axis([seconds for seconds, _, _ in known], most=5)
    canvas = _Noted(
        axis,
        make_percent_axis([value for _, value, _ in known]),
        x_title="seconds of training" + (" (log scale)" if axis.log else ""),
        y_title="%",
    )
    places = [canvas.place(seconds, value) for seconds, value, _ in known]
    heights = spread(
        [down for _, down in places], LINE_GAP, canvas.top, canvas.height - canvas.bottom
    )
    told = []
    for (seconds, value, item), (across, down), height in zip(known, places, heights, strict=True):
        told.append(f"{item.name}: {show_percent(value)} in {show_seconds(seconds)}")
        canvas.add("circle", cx=across, cy=down, r=5.0, class_="dot series-1", data_tip=told[-1])
        canvas.add("text", shorten(item.name), x=across + 9, y=height + 4, class_="key")
    return canvas.render(f"Top-1 accuracy against time of training. {'; '.join(told)}.")
