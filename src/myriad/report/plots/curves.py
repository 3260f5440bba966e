"""Lines: accuracy at k, the learning curve, the duality gap against time."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from myriad.report.evidence import Epoch
from myriad.report.plots.axes import make_percent_axis, make_step_axis, make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_number, show_percent, show_seconds

MOST_DOTS = 40


def plot_accuracy_at(accuracy_at: Sequence[tuple[int, float]], ceiling: float | None) -> Markup:
    """Draw the fraction of samples whose class is among the first k, for pairs (k, percent).

    `ceiling`, if there is one, is the highest top-1 accuracy that the data allow; it is marked at
    k = 1 only, as it does not hold for more guesses.
    """
    values = [value for _, value in accuracy_at]
    room_below = min(values) - 0.25 * max(10.0, max(values) - min(values))
    around = [max(0.0, room_below), *values, *([] if ceiling is None else [ceiling])]
    canvas = Canvas(
        make_step_axis(accuracy_at[0][0], accuracy_at[-1][0], room=0.8),
        make_percent_axis(around),
        x_title="k, the number of guesses",
        y_title="%",
    )
    canvas.add_line(list(accuracy_at), "series-1")
    canvas.add_dots(
        ((k, value, f"k = {k}: {show_percent(value)}") for k, value in accuracy_at), "series-1", 4.5
    )
    for k, value in accuracy_at:
        if k in (1, 5, 10) or k == accuracy_at[-1][0]:
            _name_value(canvas, k, value)
    if ceiling is not None:
        _mark_ceiling(canvas, ceiling)
    listed = ", ".join(f"{k}: {show_percent(value)}" for k, value in accuracy_at)
    return canvas.render(f"Line of accuracy at k over samples. {listed}.")


def plot_history(history: Sequence[Epoch]) -> Markup:
    """Draw top-1 and top-5 accuracy on validation after each epoch."""
    first = [(point.epoch, point.top1, point) for point in history if point.top1 is not None]
    fifth = [(point.epoch, point.top5, point) for point in history if point.top5 is not None]
    epochs = [point.epoch for point in history]
    canvas = Canvas(
        make_step_axis(min(epochs), max(epochs)),
        make_percent_axis([value for _, value, _ in (*first, *fifth)]),
        x_title="epoch",
        y_title="%",
    )
    key = []
    for name, kind, points in (("top-1", "series-1", first), ("top-5", "series-2", fifth)):
        if not points:
            continue
        key.append((kind, name))
        canvas.add_line([(epoch, value) for epoch, value, _ in points], kind)
        canvas.add_dots(
            ((epoch, value, _describe_epoch(name, value, point)) for epoch, value, point in points),
            kind,
            4.5 if len(points) <= MOST_DOTS else 2.5,
        )
    canvas.add_key(key)
    if not first:
        return canvas.render("Learning curve on validation.")
    best = max(first, key=lambda point: point[1])
    across, down = canvas.locate(best[0], best[1])
    canvas.add("circle", cx=across, cy=down, r=8.0, class_="ring")
    canvas.add_remark(f"best top-1: {show_percent(best[1])} at epoch {show_number(best[0])}")
    return canvas.render(
        f"Learning curve on validation over {len(first)} epochs: top-1 accuracy goes from "
        f"{show_percent(first[0][1])} to {show_percent(first[-1][1])}; the best is "
        f"{show_percent(best[1])} at epoch {show_number(best[0])}."
    )


def _describe_epoch(name: str, value: float, point: Epoch) -> str:
    text = f"epoch {show_number(point.epoch)}: {name} {show_percent(value)}"
    return text if point.seconds is None else f"{text}, {show_seconds(point.seconds)}"


def _name_value(canvas: Canvas, k: int, value: float) -> None:
    """Write a value below its dot, as the line rises, or above it next to the axis."""
    across, down = canvas.locate(k, value)
    below = down + 28 < canvas.height - canvas.bottom
    height = down + 21 if below else down - 11
    shown = show_percent(value)
    canvas.add("text", shown, x=across, y=height, text_anchor="middle", class_="value")


def _mark_ceiling(canvas: Canvas, ceiling: float) -> None:
    across, down = canvas.locate(1, ceiling)
    tip = f"no model can do better at k = 1 than {show_percent(ceiling)}"
    canvas.add(
        "line", x1=across - 14, x2=across + 14, y1=down, y2=down, class_="level", data_tip=tip
    )
    canvas.add("text", "ceiling at k = 1", x=across + 20, y=down + 4, class_="note")


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
        ((seconds, gap, _describe_gap(gap, point)) for seconds, gap, point in points),
        "series-1",
        4.5,
    )
    _, last, point = points[-1]
    canvas.add_remark(f"at the end: {_show_gap(last)}")
    return canvas.render(
        f"Relative duality gap against time, {len(points)} certificates: from "
        f"{_show_gap(points[0][1])} to {_show_gap(last)} after {show_seconds(point.seconds)}."
    )


def _describe_gap(gap: float, point: Epoch) -> str:
    when = f"after {show_number(point.epoch)} epochs, {show_seconds(point.seconds)}"
    return f"gap {_show_gap(gap)} {when}"


def _show_gap(gap: float) -> str:
    return show_number(float(f"{gap:.2g}"))
