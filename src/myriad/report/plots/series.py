"""Several lines in one plot, each named at its end: what studies of settings are read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from myriad.report.plots.axes import Axis, make_percent_axis, make_step_axis, make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_number, show_percent

MOST_LINES = 6
"""Kinds of lines that the style sheet tells apart."""
MOST_DOTS = 40
LINE_GAP = 15.0
LONGEST_NAME = 19


@dataclass(frozen=True)
class Series:
    """A line: its name, its points (x, percent), and a level across the plot instead if `flat`."""

    name: str
    points: Sequence[tuple[float, float]]
    flat: bool = False


class _Named(Canvas):
    """A canvas with room for names on the right."""

    right = 152.0


def plot_passes(series: Sequence[Series]) -> Markup | None:
    """Draw top-1 accuracy against epochs; the ring marks the best of each line."""
    series = [item for item in series if item.points][:MOST_LINES]
    if not series:
        return None
    passes = [x for item in series for x, _ in item.points]
    axis = make_step_axis(min(passes), max(passes), most=8)
    return _plot(series, axis, "passes", "Top-1 accuracy on validation against passes.", rings=True)


def plot_guesses(series: Sequence[Series]) -> Markup | None:
    """Draw accuracy over samples against the number of guesses; None without two numbers."""
    series = [item for item in series if len(item.points) > 1][:MOST_LINES]
    if not series:
        return None
    guesses = [x for item in series for x, _ in item.points]
    axis = make_step_axis(min(guesses), max(guesses), most=10)
    return _plot(series, axis, "k, the number of guesses", "Accuracy at k over samples.")


def plot_values(name: str, series: Sequence[Series]) -> Markup | None:
    """Draw top-1 accuracy against the values of a setting, on a logarithmic axis if they need it.

    None if no line has two values.
    """
    series = [item for item in series if item.points][:MOST_LINES]
    values = [x for item in series if not item.flat for x, _ in item.points]
    if len(set(values)) < 2:
        return None
    axis = make_value_axis(values, most=6)
    title = name + (" (log scale)" if axis.log else "")
    return _plot(series, axis, title, f"Top-1 accuracy on validation against {name}.")


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return the places moved apart as little as needed to be `gap` from each other."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    floor = low
    for i in order:
        moved[i] = floor = max(moved[i], floor)
        floor += gap
    ceiling = high
    for i in reversed(order):
        moved[i] = ceiling = min(moved[i], ceiling)
        ceiling -= gap
    return moved


def shorten(name: str) -> str:
    """Return a name that has room beside a plot."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _plot(
    series: Sequence[Series], axis: Axis, x_title: str, description: str, *, rings: bool = False
) -> Markup:
    accuracies = [y for item in series for _, y in item.points]
    y_axis = make_percent_axis(accuracies)
    canvas = _Named(axis, y_axis, x_title=x_title, y_title="%", width=560)
    ends, told = [], [description]
    for number, item in enumerate(series, start=1):
        kind = f"series-{number}"
        best = max(item.points, key=lambda point: point[1])
        if item.flat:
            level = item.points[0][1]
            canvas.add_line([(axis.low, level), (axis.high, level)], f"{kind} dashed")
            ends.append(canvas.place(axis.high, level)[1])
        else:
            _draw_line(canvas, item, kind)
            ends.append(canvas.place(*item.points[-1])[1])
        if rings and not item.flat:
            across, down = canvas.place(*best)
            canvas.add("circle", cx=across, cy=down, r=8.0, class_="ring")
        told.append(f"{item.name}: best {show_percent(best[1])} at {show_number(best[0])}.")
    places = spread(ends, LINE_GAP, canvas.top, canvas.height - canvas.bottom)
    for number, (item, down) in enumerate(zip(series, places, strict=True), start=1):
        left = canvas.width - canvas.right
        canvas.add("circle", cx=left + 12, cy=down, r=4.0, class_=f"dot series-{number}")
        canvas.add("text", shorten(item.name), x=left + 21, y=down + 4, class_="key")
    return canvas.render(" ".join(told))


def _draw_line(canvas: Canvas, item: Series, kind: str) -> None:
    canvas.add_line(item.points, kind)
    radius = 4.0 if len(item.points) <= MOST_DOTS else 2.0
    canvas.add_dots(
        ((x, y, f"{item.name}, {show_number(x)}: {show_percent(y)}") for x, y in item.points),
        kind,
        radius,
    )
