"""The duality gap against time: how soon training in the dual came how near to the optimum."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from myriad.report.evidence import Epoch
from myriad.report.plots.axes import make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_number, show_seconds


def plot_gaps(history: Sequence[Epoch]) -> Markup | None:
    """Draw the relative gap of each certificate; None without two of them."""
    points = [
        (point.seconds, point.gap, point)
        for point in history
        if point.seconds is not None and point.gap is not None and point.gap > 0
    ]
    if len(points) < 2:
        return None
    canvas = Canvas(
        make_value_axis([0.0, *(seconds for seconds, _, _ in points)], most=6),
        make_value_axis([gap for _, gap, _ in points], most=5),
        x_title="seconds of training",
        y_title="relative gap",
    )
    canvas.add_line([(seconds, gap) for seconds, gap, _ in points], "series-1")
    canvas.add_dots(
        ((seconds, gap, _tell(gap, point)) for seconds, gap, point in points), "series-1", 4.5
    )
    _, last, point = points[-1]
    canvas.add_remark(f"at the end: {_show(last)}")
    return canvas.render(
        f"Relative duality gap against time, {len(points)} certificates: from {_show(points[0][1])}"
        f" to {_show(last)} after {show_seconds(point.seconds)}."
    )


def _tell(gap: float, point: Epoch) -> str:
    passes = f"after {show_number(point.epoch)} passes, {show_seconds(point.seconds)}"
    return f"gap {_show(gap)} {passes}"


def _show(gap: float) -> str:
    return show_number(float(f"{gap:.2g}"))
