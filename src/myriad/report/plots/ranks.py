"""The rank of weights against the penalty: what a path over lam is read from."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from myriad.report.evidence import Trial
from myriad.report.plots.axes import make_value_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_number, show_percent


def plot_ranks(trials: Sequence[Trial]) -> Markup | None:
    """Draw rank against lam, the one with the best accuracy marked; None without two of them."""
    points = [point for trial in trials if (point := _read(trial)) is not None]
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
        across, down = canvas.place(lam, rank)
        kind = "series-2" if point == best else "series-1"
        tip = f"lam {show_number(lam)}: rank {show_number(rank)}, {show_percent(top1)} top-1"
        canvas.add("circle", cx=across, cy=down, r=5.0, class_=f"dot {kind}", data_tip=tip)
    canvas.add_key([("series-2", "best top-1")])
    return canvas.render(
        f"Rank against lam: {show_number(points[-1][1])} at lam {show_number(points[-1][0])}, "
        f"{show_number(points[0][1])} at {show_number(points[0][0])}; the best top-1, "
        f"{show_percent(best[2])}, at rank {show_number(best[1])}."
    )


def _read(trial: Trial) -> tuple[float, float, float] | None:
    """Return lam, rank and top-1 of a trial that has all three."""
    settings = dict(trial.settings)
    lam, rank = settings.get("lam"), settings.get("rank")
    if isinstance(lam, str | None) or isinstance(rank, str | None) or trial.top1 is None:
        return None
    return (lam, rank, trial.top1) if lam > 0 and rank >= 0 else None
