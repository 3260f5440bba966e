"""Plots of searches and studies: settings tried, candidates side by side, several named lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from myriad.report.evidence import Trial
from myriad.report.plots.axes import Axis, make_percent_axis, make_step_axis, make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_number, show_percent, show_seconds

MOST_LINES = 6
"""Number of lines that have a style of their own."""
MOST_DOTS = 40
LINE_GAP = 15.0
LONGEST_NAME = 19
ROW = 28


@dataclass(frozen=True)
class Series:
    """A line: its name and points (x, percent); a horizontal line if `flat`."""

    name: str
    points: Sequence[tuple[float, float]]
    flat: bool = False


class _Named(Canvas):
    """A canvas with room for names on the right."""

    right = 152.0


def plot_epochs(series: Sequence[Series]) -> Markup | None:
    """Draw top-1 accuracy against epochs; the ring marks the best of each line."""
    series = [item for item in series if item.points][:MOST_LINES]
    if not series:
        return None
    epochs = [x for item in series for x, _ in item.points]
    axis = make_step_axis(min(epochs), max(epochs), most=8)
    return _plot(series, axis, "epochs", "Top-1 accuracy on validation against epochs.", rings=True)


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


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return the positions moved apart as little as needed to be `gap` from each other."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    moved = list(positions)
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
    ends, summary = [], [description]
    for number, item in enumerate(series, start=1):
        kind = f"series-{number}"
        best = max(item.points, key=lambda point: point[1])
        if item.flat:
            level = item.points[0][1]
            canvas.add_line([(axis.low, level), (axis.high, level)], f"{kind} dashed")
            ends.append(canvas.locate(axis.high, level)[1])
        else:
            _draw_line(canvas, item, kind)
            ends.append(canvas.locate(*item.points[-1])[1])
        if rings and not item.flat:
            across, down = canvas.locate(*best)
            canvas.add("circle", cx=across, cy=down, r=8.0, class_="ring")
        summary.append(f"{item.name}: best {show_percent(best[1])} at {show_number(best[0])}.")
    positions = spread(ends, LINE_GAP, canvas.top, canvas.height - canvas.bottom)
    for number, (item, down) in enumerate(zip(series, positions, strict=True), start=1):
        left = canvas.width - canvas.right
        canvas.add("circle", cx=left + 12, cy=down, r=4.0, class_=f"dot series-{number}")
        canvas.add("text", shorten(item.name), x=left + 21, y=down + 4, class_="key")
    return canvas.render(" ".join(summary))


def _draw_line(canvas: Canvas, item: Series, kind: str) -> None:
    canvas.add_line(item.points, kind)
    radius = 4.0 if len(item.points) <= MOST_DOTS else 2.0
    canvas.add_dots(
        ((x, y, f"{item.name}, {show_number(x)}: {show_percent(y)}") for x, y in item.points),
        kind,
        radius,
    )


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
    """Draw a line per candidate with a dot for each split, the first on top."""
    known = [item for item in entries if item.validation is not None or item.test is not None]
    if not known:
        return None
    last = len(known) - 1
    ticks = tuple((float(last - i), shorten(item.name)) for i, item in enumerate(known))
    splits = {"validation": "series-1", "test": "series-2"}
    values = [
        value for item in known for split in splits if (value := getattr(item, split)) is not None
    ]
    canvas = _Listed(
        make_percent_axis(values),
        Axis(-0.6, last + 0.6, ticks),
        x_title="top-1 accuracy over samples, %",
        y_title="",
        height=76 + ROW * len(known),
    )
    key = []
    for split, kind in splits.items():
        dots = [
            (value, float(last - i), f"{item.name}, {split}: {show_percent(value)} top-1")
            for i, item in enumerate(known)
            if (value := getattr(item, split)) is not None
        ]
        if dots:
            key.append((kind, split))
            canvas.add_dots(dots, kind, 6.0)
    canvas.add_key(key)
    summary = "; ".join(
        f"{item.name}: validation {show_percent(item.validation)}, test {show_percent(item.test)}"
        for item in known
    )
    return canvas.render(f"Top-1 accuracy of each objective. {summary}.")


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
    positions = [canvas.locate(seconds, value) for seconds, value, _ in known]
    heights = spread(
        [down for _, down in positions], LINE_GAP, canvas.top, canvas.height - canvas.bottom
    )
    summary = []
    for (seconds, value, item), (across, down), height in zip(
        known, positions, heights, strict=True
    ):
        summary.append(f"{item.name}: {show_percent(value)} in {show_seconds(seconds)}")
        canvas.add("circle", cx=across, cy=down, r=5.0, class_="dot series-1", data_tip=summary[-1])
        canvas.add("text", shorten(item.name), x=across + 9, y=height + 4, class_="key")
    return canvas.render(f"Top-1 accuracy against time of training. {'; '.join(summary)}.")


def plot_trials(trials: Sequence[Trial], chosen: Trial | None = None) -> list[Markup]:
    """Draw top-1 accuracy against each numeric setting that was varied, a small plot each.

    Only the chosen trial is marked, in every plot that has it.
    """
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
            plots.append(_plot_setting(name, points, chosen))
    return plots


def _plot_setting(
    name: str, points: Sequence[tuple[float, float, Trial]], chosen: Trial | None
) -> Markup:
    values = [value for value, _, _ in points]
    axis = make_value_axis(values, most=4)
    canvas = Canvas(
        axis,
        make_percent_axis([top1 for _, top1, _ in points]),
        x_title=name + (" (log scale)" if axis.log else ""),
        y_title="%",
        width=300,
        height=220,
    )
    summary = f"Top-1 accuracy on validation against {name}."
    # The chosen trial is drawn last, above others at the same position.
    for value, top1, trial in sorted(points, key=lambda point: point[2] is chosen):
        across, down = canvas.locate(value, top1)
        kind = "series-2" if trial is chosen else "series-1"
        settings = ", ".join(f"{key} {show_number(item)}" for key, item in trial.settings)
        tip = f"{settings}: {show_percent(top1)} top-1"
        canvas.add("circle", cx=across, cy=down, r=5.0, class_=f"dot {kind}", data_tip=tip)
        if trial is chosen:
            canvas.add_key([("series-2", "chosen")])
            summary += f" Chosen: {show_number(value)}, with {show_percent(top1)}."
    return canvas.render(summary)


def plot_ranks(trials: Sequence[Trial]) -> Markup | None:
    """Draw rank against lam, the one with the best accuracy marked; None without two of them."""
    points = [point for trial in trials if (point := _read_rank(trial)) is not None]
    points.sort(key=lambda point: point[0])
    if len({lam for lam, _, _ in points}) < 2:
        return None
    canvas = Canvas(
        make_value_axis([lam for lam, _, _ in points], most=4),
        make_value_axis([0.0, *(rank for _, rank, _ in points)], most=5),
        x_title="lam",
        y_title="rank",
        width=300,
        height=220,
    )
    canvas.add_line([(lam, rank) for lam, rank, _ in points], "series-1")
    best = max(points, key=lambda point: (point[2], point[0]))
    for point in points:
        lam, rank, top1 = point
        across, down = canvas.locate(lam, rank)
        kind = "series-2" if point == best else "series-1"
        tip = f"lam {show_number(lam)}: rank {show_number(rank)}, {show_percent(top1)} top-1"
        canvas.add("circle", cx=across, cy=down, r=5.0, class_=f"dot {kind}", data_tip=tip)
    canvas.add_key([("series-2", "best top-1")])
    return canvas.render(
        f"Rank against lam: {show_number(points[-1][1])} at lam {show_number(points[-1][0])}, "
        f"{show_number(points[0][1])} at {show_number(points[0][0])}; the best top-1, "
        f"{show_percent(best[2])}, at rank {show_number(best[1])}."
    )


def _read_rank(trial: Trial) -> tuple[float, float, float] | None:
    """Return lam, rank and top-1 of a trial that has all three."""
    settings = dict(trial.settings)
    lam, rank = settings.get("lam"), settings.get("rank")
    if isinstance(lam, str | None) or isinstance(rank, str | None) or trial.top1 is None:
        return None
    return (lam, rank, trial.top1) if lam > 0 and rank >= 0 else None
