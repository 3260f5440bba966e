"""Plots of classes: a histogram of accuracies, accuracy by training images, a map of prototypes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from myriad.report.evidence import ClassRecord, MapPoint
from myriad.report.plots.axes import (
    Axis,
    make_count_axis,
    make_value_axis,
    make_whole_percent_axis,
)
from myriad.report.plots.canvas import Canvas, Point
from myriad.report.wording import plural, show_count, show_percent

LARGEST_DOT = 10.0
SINGLE_DOT = 4.0
NAMES_SHOWN = 5
CROWDED = 200  # dots; if there are more, nearby ones are merged
COLUMNS, LEVELS = 32, 40
MOST_NAMED = 60
LONGEST_NAME = 18
BARE = Axis(-4.0, 104.0, ())
APART = 6.0
LETTER = 8.5
"""The width of a letter, about."""


def plot_histogram(
    rates: Sequence[float], mean: float | None, name: str = "top-1 accuracy"
) -> Markup:
    """Draw how many classes have which accuracy, in bars ten points wide.

    Parameters
    ----------
    rates : percentages, one per class; 100 falls into the last bar.
    mean : their mean, marked if given.
    name : what the percentages are.
    """
    counts, edges = np.histogram(np.asarray(rates, dtype=np.float64), bins=10, range=(0, 100))
    canvas = Canvas(
        make_whole_percent_axis(),
        make_count_axis(float(counts.max())),
        x_title=f"{name} of a class, %",
        y_title="classes",
    )
    summary = []
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        closing = "to 100" if high == 100 else f"to below {high:.0f}"
        summary.append(f"{low:.0f} {closing}{chr(160)}%: {plural(count, 'class', 'classes')}")
        if count:
            _draw_bar(canvas, (low, high), count, summary[-1])
    if mean is not None:
        across, foot = canvas.locate(mean, 0)
        canvas.add("line", x1=across, x2=across, y1=22.0, y2=foot, class_="level")
        side = "end" if mean > 50 else "start"
        shift = -6 if mean > 50 else 6
        label = f"mean {show_percent(mean)}"
        canvas.add("text", label, x=across + shift, y=16.5, text_anchor=side, class_="note")
    return canvas.render(f"Histogram of the {name} of classes. " + "; ".join(summary) + ".")


def _draw_bar(canvas: Canvas, ends: tuple[float, float], count: int, tip: str) -> None:
    left, top = canvas.locate(ends[0], count)
    right, foot = canvas.locate(ends[1], 0)
    canvas.add(
        "rect",
        x=left + 1.5,
        y=top,
        width=right - left - 3,
        height=foot - top,
        rx=2.0,
        class_="bar series-1",
        data_tip=tip,
    )
    inside = top - 6 < canvas.top
    canvas.add(
        "text",
        show_count(count),
        x=(left + right) / 2,
        y=top + 16 if inside else top - 6,
        text_anchor="middle",
        class_="value inside" if inside else "value",
    )


def plot_by_training(
    classes: Sequence[ClassRecord], name: str = "top-1 accuracy", noun: str = "image"
) -> Markup | None:
    """Draw the rates of classes against their training images or rows, with a running median.

    Classes that coincide are one dot whose area grows with their number; with many classes, those
    that nearly coincide. None if all classes have the same number.
    """
    known = [item for item in classes if item.rate is not None and item.train > 0]
    if len({item.train for item in known}) < 2:
        return None
    canvas = Canvas(
        make_value_axis([item.train for item in known]),
        make_whole_percent_axis(),
        x_title=f"training {noun}s of a class" + _note_log([item.train for item in known]),
        y_title="%",
    )
    dots = _gather(known, canvas.x)
    unit = min(SINGLE_DOT, LARGEST_DOT / max(len(dot) for dot in dots) ** 0.5)
    for dot in dots:
        x = float(np.median([item.train for item in dot]))
        across, down = canvas.locate(x, float(np.mean([item.rate for item in dot])))
        radius = max(1.5, unit * len(dot) ** 0.5)
        tip = _describe_dot(dot, name, noun)
        canvas.add("circle", cx=across, cy=down, r=radius, class_="dot cloud", data_tip=tip)
    median = find_running_median([(item.train, item.rate or 0.0) for item in known])
    key = [("cloud", "a class")]
    if median:
        canvas.add_line(median, "series-2")
        key.append(("series-2", "running median"))
    canvas.add_key(key)
    return canvas.render(_describe_training(known, median, name, noun))


def find_running_median(points: Sequence[Point]) -> list[Point]:
    """Return the median y around 40 positions along x, each over a sixth of the points or more.

    A window includes all points that share the x of its ends, so that the order of ties does not
    matter. Empty with fewer than 20 points.
    """
    if len(points) < 20:
        return []
    x, y = np.array(sorted(points), dtype=np.float64).T
    half = max(3, len(x) // 12)
    medians: dict[float, float] = {}
    for i in np.unique(np.linspace(0, len(x) - 1, 40).round().astype(int)):
        start = np.searchsorted(x, x[max(0, i - half)], side="left")
        end = np.searchsorted(x, x[min(len(x) - 1, i + half)], side="right")
        medians[float(x[i])] = float(np.median(y[start:end]))
    return list(medians.items()) if len(medians) > 1 else []


def _gather(classes: Sequence[ClassRecord], axis: Axis) -> list[list[ClassRecord]]:
    """Return the classes that share a position in the plot, the most crowded position first."""
    exact: dict[Point, list[ClassRecord]] = {}
    coarse: dict[Point, list[ClassRecord]] = {}
    for item in classes:
        rate = item.rate or 0.0
        exact.setdefault((item.train, round(rate, 1)), []).append(item)
        column, level = int(axis.locate(item.train) * COLUMNS), round(rate / 100 * LEVELS)
        coarse.setdefault((column, level), []).append(item)
    dots = exact if len(exact) <= CROWDED else coarse
    return sorted(dots.values(), key=lambda dot: -len(dot))


def _describe_dot(dot: Sequence[ClassRecord], name: str, noun: str) -> str:
    names = [item.name if len(item.name) <= 40 else item.name[:39] + "…" for item in dot]
    summary = ", ".join(names[:NAMES_SHOWN])
    if len(names) > NAMES_SHOWN:
        summary += f" and {show_count(len(names) - NAMES_SHOWN)} more"
    train = _show_range([show_count(item.train) for item in dot], [i.train for i in dot])
    rate = _show_range([show_percent(item.rate) for item in dot], [i.rate or 0 for i in dot])
    return f"{summary}\ntraining {noun}s: {train}, {name}: {rate}"


def _show_range(shown: Sequence[str], values: Sequence[float]) -> str:
    low, high = shown[int(np.argmin(values))], shown[int(np.argmax(values))]
    return low if low == high else f"{low} to {high}"


def _note_log(values: Sequence[float]) -> str:
    return " (log scale)" if make_value_axis(values).log else ""


def _describe_training(
    classes: Sequence[ClassRecord], median: Sequence[Point], name: str, noun: str
) -> str:
    counts = [item.train for item in classes]
    summary = (
        f"{name.capitalize()} of {show_count(len(classes))} classes against their number of "
        f"training {noun}s, from {show_count(min(counts))} to {show_count(max(counts))}."
    )
    if median:
        summary += (
            f" The running median goes from {show_percent(median[0][1])} at the fewest {noun}s "
            f"to {show_percent(median[-1][1])} at the most."
        )
    return summary


def plot_class_map(points: Sequence[MapPoint]) -> Markup | None:
    """Draw a dot for each class, and its name where there is room for it."""
    if len(points) < 3:
        return None
    canvas = Canvas(BARE, BARE, x_title="", y_title="", width=760, height=560)
    canvas.add_dots(((point.x, point.y, point.name) for point in points), "cloud", 3.0)
    named: list[MapPoint] = []
    for point in points:
        if len(named) == MOST_NAMED:
            break
        if all(abs(point.x - o.x) > 2 * APART or abs(point.y - o.y) > APART / 2 for o in named):
            across, down = canvas.locate(point.x, point.y)
            name = point.name
            short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
            fits = across + 5 + LETTER * len(short) < canvas.width
            at, side = (across + 5, "start") if fits else (across - 5, "end")
            canvas.add("text", short, x=at, y=down + 4, text_anchor=side, class_="tick")
            named.append(point)
    return canvas.render(
        f"Map of {show_count(len(points))} classes by the two main directions of their prototypes."
    )
