"""Dots: accuracy against training images a class, and against the settings tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from myriad.report.evidence import ClassRecord, Trial
from myriad.report.plots.axes import (
    Axis,
    make_percent_axis,
    make_value_axis,
    make_whole_percent_axis,
)
from myriad.report.plots.canvas import Canvas, Point
from myriad.report.wording import show_count, show_number, show_percent

LARGEST_DOT = 10.0
SINGLE_DOT = 4.0
NAMES_TOLD = 5
CROWDED = 200  # places; more are gathered into columns and levels
COLUMNS, LEVELS = 32, 40


def plot_by_training(classes: Sequence[ClassRecord]) -> Markup | None:
    """Draw top-1 accuracy against the number of training images, with a running median.

    Classes that coincide are one dot whose area grows with their number; of thousands, those that
    nearly coincide. None if all have the same number of training images: there is nothing to see.
    """
    known = [item for item in classes if item.top1 is not None and item.train > 0]
    if len({item.train for item in known}) < 2:
        return None
    canvas = Canvas(
        make_value_axis([item.train for item in known]),
        make_whole_percent_axis(),
        x_title="training images of a class" + _tell_log([item.train for item in known]),
        y_title="%",
    )
    places = _gather(known, canvas.x)
    unit = min(SINGLE_DOT, LARGEST_DOT / max(len(place) for place in places) ** 0.5)
    for place in places:
        x = float(np.median([item.train for item in place]))
        across, down = canvas.place(x, float(np.mean([item.top1 for item in place])))
        radius = max(1.5, unit * len(place) ** 0.5)
        tip = _tell_place(place)
        canvas.add("circle", cx=across, cy=down, r=radius, class_="dot cloud", data_tip=tip)
    median = find_running_median([(item.train, item.top1 or 0.0) for item in known])
    key = [("cloud", "a class")]
    if median:
        canvas.add_line(median, "series-2")
        key.append(("series-2", "running median"))
    canvas.add_key(key)
    return canvas.render(_describe_training(known, median))


def plot_trials(trials: Sequence[Trial]) -> list[Markup]:
    """Draw top-1 accuracy against each numeric setting that was varied, a small plot each."""
    scored = [trial for trial in trials if trial.top1 is not None]
    names = dict.fromkeys(name for trial in scored for name, _ in trial.settings)
    plots = []
    for name in names:
        points = [
            (value, trial.top1 or 0.0, trial)
            for trial in scored
            for key, value in trial.settings
            if key == name and not isinstance(value, str)
        ]
        if len({value for value, _, _ in points}) > 1:
            plots.append(_plot_setting(name, points))
    return plots


def find_running_median(points: Sequence[Point], most: int = 40) -> list[Point]:
    """Return the median y around `most` places along x, each over a sixth of the points or more.

    A window takes in all points that share the x of its ends, so the order of ties has no say.
    Empty with fewer than 20 points, of which a median tells little.
    """
    if len(points) < 20:
        return []
    x, y = np.array(sorted(points), dtype=np.float64).T
    half = max(3, len(x) // 12)
    medians: dict[float, float] = {}
    for i in np.unique(np.linspace(0, len(x) - 1, most).round().astype(int)):
        start = np.searchsorted(x, x[max(0, i - half)], side="left")
        end = np.searchsorted(x, x[min(len(x) - 1, i + half)], side="right")
        medians[float(x[i])] = float(np.median(y[start:end]))
    return list(medians.items()) if len(medians) > 1 else []


def _plot_setting(name: str, points: Sequence[tuple[float, float, Trial]]) -> Markup:
    values = [value for value, _, _ in points]
    canvas = Canvas(
        make_value_axis(values, most=4),
        make_percent_axis([top1 for _, top1, _ in points]),
        x_title=name + _tell_log(values),
        y_title="%",
        width=300,
        height=220,
    )
    best = max(top1 for _, top1, _ in points)
    for value, top1, trial in points:
        across, down = canvas.place(value, top1)
        kind = "series-2" if top1 == best else "series-1"
        told = ", ".join(f"{key} {show_number(item)}" for key, item in trial.settings)
        tip = f"{told}: {show_percent(top1)} top-1"
        canvas.add("circle", cx=across, cy=down, r=5.0, class_=f"dot {kind}", data_tip=tip)
    canvas.add_key([("series-2", "best")])
    at = ", ".join(show_number(value) for value, top1, _ in points if top1 == best)
    return canvas.render(
        f"Top-1 accuracy on validation against {name}: the best, {show_percent(best)}, at {at}."
    )


def _gather(classes: Sequence[ClassRecord], axis: Axis) -> list[list[ClassRecord]]:
    """Return the classes that share a position in the plot, the most crowded position first."""
    exact: dict[Point, list[ClassRecord]] = {}
    coarse: dict[Point, list[ClassRecord]] = {}
    for item in classes:
        top1 = item.top1 or 0.0
        exact.setdefault((item.train, round(top1, 1)), []).append(item)
        column, level = int(axis.place(item.train) * COLUMNS), round(top1 / 100 * LEVELS)
        coarse.setdefault((column, level), []).append(item)
    places = exact if len(exact) <= CROWDED else coarse
    return sorted(places.values(), key=lambda place: -len(place))


def _tell_place(place: Sequence[ClassRecord]) -> str:
    names = [item.name if len(item.name) <= 40 else item.name[:39] + "…" for item in place]
    told = ", ".join(names[:NAMES_TOLD])
    if len(names) > NAMES_TOLD:
        told += f" and {show_count(len(names) - NAMES_TOLD)} more"
    train = _tell_range([show_count(item.train) for item in place], [i.train for i in place])
    top1 = _tell_range([show_percent(item.top1) for item in place], [i.top1 or 0 for i in place])
    return f"{told}\ntraining images: {train}, top-1: {top1}"


def _tell_range(shown: Sequence[str], values: Sequence[float]) -> str:
    low, high = shown[int(np.argmin(values))], shown[int(np.argmax(values))]
    return low if low == high else f"{low} to {high}"


def _tell_log(values: Sequence[float]) -> str:
    return " (log scale)" if make_value_axis(values).log else ""


def _describe_training(classes: Sequence[ClassRecord], median: Sequence[Point]) -> str:
    counts = [item.train for item in classes]
    told = (
        f"Top-1 accuracy of {show_count(len(classes))} classes against their number of training "
        f"images, from {show_count(min(counts))} to {show_count(max(counts))}."
    )
    if median:
        told += (
            f" The running median goes from {show_percent(median[0][1])} at the fewest images "
            f"to {show_percent(median[-1][1])} at the most."
        )
    return told
