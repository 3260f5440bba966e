"""Probabilities: the reliability diagram, and error against the fraction of rows answered."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from myriad.report.plots.axes import make_percent_axis, make_whole_percent_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.probability_evidence import ReliabilityBin
from myriad.report.wording import show_count, show_percent


def plot_reliability(bins: Sequence[ReliabilityBin], noun: str) -> Markup | None:
    """Draw accuracy against confidence; None without two bins."""
    if len(bins) < 2:
        return None
    canvas = Canvas(
        make_whole_percent_axis(),
        make_whole_percent_axis(),
        x_title="confidence, %",
        y_title="correct, %",
    )
    canvas.add_line([(0.0, 0.0), (100.0, 100.0)], "grid")
    canvas.add_line([(one.confidence, one.accuracy) for one in bins], "series-1")
    canvas.add_dots(
        ((one.confidence, one.accuracy, _describe_bin(one, noun)) for one in bins), "series-1", 4.5
    )
    listed = ", ".join(
        f"{show_percent(one.confidence)}: {show_percent(one.accuracy)}" for one in bins
    )
    return canvas.render(f"Reliability diagram, accuracy at each confidence. {listed}.")


def plot_risk(curve: Sequence[tuple[float, float]], noun: str) -> Markup | None:
    """Draw the error among the rows answered, for pairs (answered, error) in percent."""
    if len(curve) < 2:
        return None
    errors = [error for _, error in curve]
    canvas = Canvas(
        make_whole_percent_axis(),
        make_percent_axis([0.0, *errors]),
        x_title=f"coverage (most confident {noun}s), %",
        y_title="error, %",
    )
    canvas.add_line(list(curve), "series-1")
    canvas.add_remark(f"all answered: {show_percent(errors[-1])} wrong")
    half = min(curve, key=lambda point: abs(point[0] - 50.0))
    return canvas.render(
        f"Error against the fraction of {noun}s answered: {show_percent(half[1])} wrong with half "
        f"of the {noun}s answered, {show_percent(errors[-1])} with all."
    )


def _describe_bin(one: ReliabilityBin, noun: str) -> str:
    return (
        f"{show_count(one.count)} {noun}s of confidence {show_percent(one.confidence)}: "
        f"{show_percent(one.accuracy)} correct"
    )
