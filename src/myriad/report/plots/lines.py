"""Lines of numbers in order: spectra, weights by rank, densities, correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from myriad.report.plots.axes import Axis, make_value_axis, make_whole_percent_axis
from myriad.report.plots.canvas import Canvas, Point
from myriad.report.wording import show_number, show_percent

MOST_POINTS = 400
_LEAST = 1e-6  # the foot of a logarithmic axis, as a fraction of the largest value

Steps = tuple[NDArray[np.float64], NDArray[np.float64]]


def plot_variances(variances: NDArray[np.floating]) -> Markup:
    """Draw the variance along each principal component, which a logarithmic axis makes a line."""
    largest = max(float(variances.max()), 1e-30)
    heights = np.maximum(variances.astype(np.float64), _LEAST * largest) / largest * 100
    canvas = Canvas(
        _make_rank_axis(len(heights)),
        make_value_axis(heights.tolist()),
        x_title="component",
        y_title="variance, % of the first",
    )
    canvas.add_line(_thin(heights), "series-1")
    last = show_percent(float(heights[-1]), 2)
    return canvas.render(
        f"Variance of {len(heights)} principal components in order; the last has {last} of the "
        "first."
    )


def plot_kept_variance(variances: NDArray[np.floating], total: float) -> Markup:
    """Draw the share of the total variance that the first components keep together."""
    shares = 100 * np.minimum(np.cumsum(variances.astype(np.float64)) / total, 1.0)
    canvas = Canvas(
        _make_rank_axis(len(shares)),
        make_whole_percent_axis(),
        x_title="components kept",
        y_title="% of the variance",
    )
    canvas.add_line(_thin(shares), "series-1")
    across, down = canvas.locate(len(shares), float(shares[-1]))
    kept = show_percent(float(shares[-1]))
    summary = f"{len(shares)} components keep {kept}"
    canvas.add("circle", cx=across, cy=down, r=4.5, class_="dot series-1", data_tip=summary)
    canvas.add_remark(summary)
    return canvas.render(f"Share of the variance that the first components keep: {summary}.")


def plot_weights(weights: NDArray[np.floating]) -> Markup:
    """Draw the weights of Gaussians in descending order, and the uniform weight."""
    ranked = 100 * np.sort(weights.astype(np.float64))[::-1]
    even = 100 / len(ranked)
    canvas = Canvas(
        _make_rank_axis(len(ranked)),
        make_value_axis([0.0, float(ranked[0])]),
        x_title="Gaussians, the heaviest first",
        y_title="weight, %",
    )
    canvas.add_line(_thin(ranked), "series-1")
    left, down = canvas.locate(1, even)
    right, _ = canvas.locate(len(ranked), even)
    canvas.add("line", x1=left, x2=right, y1=down, y2=down, class_="level")
    canvas.add_remark(f"dashed: {show_percent(even, 2)} each, if all were alike")
    return canvas.render(
        f"Weights of {len(ranked)} Gaussians in order, from {show_percent(float(ranked[0]), 2)} to "
        f"{show_percent(float(ranked[-1]), 3)}."
    )


def plot_densities(
    densities: Mapping[str, Steps], *, x_title: str, small: bool = False, log: bool = False
) -> Markup:
    """Draw one or two distributions, by name: the fraction of all values in each bin.

    Parameters
    ----------
    densities : edges of bins, and the fraction of the values in each.
    small : whether it is one of many, with no key.
    log : whether the fractions are shown on a logarithmic axis.
    """
    edges = next(iter(densities.values()))[0]
    curves = [100 * shares for _, shares in densities.values()]
    largest = max(float(curve.max()) for curve in curves)
    size = {"width": 300, "height": 200} if small else {}
    foot = min(float(curve[curve > 0].min()) for curve in curves)
    canvas = Canvas(
        make_value_axis([float(edges[0]), float(edges[-1])], most=4 if small else 8),
        make_value_axis([foot if log else 0.0, largest], most=4 if small else 6),
        x_title=x_title,
        y_title="%",
        **size,
    )
    key = []
    for number, (name, (ends, shares)) in enumerate(densities.items(), start=1):
        heights = np.maximum(100 * shares, foot) if log else 100 * shares
        canvas.add_line(_trace(ends, heights), f"series-{number}")
        key.append((f"series-{number}", name))
    if not small:
        canvas.add_key(key)
    summary = "; ".join(
        f"{name}: highest at {show_number(_find_top(steps))}" for name, steps in densities.items()
    )
    return canvas.render(f"Distribution of {x_title}. {summary}.")


def _find_top(steps: Steps) -> float:
    ends, shares = steps
    top = int(shares.argmax())
    return float(f"{(ends[top] + ends[top + 1]) / 2:.2g}")


def _trace(ends: NDArray[np.float64], heights: NDArray[np.float64]) -> list[Point]:
    """Return the outline of a histogram through the middles of its bins."""
    middles = (ends[:-1] + ends[1:]) / 2
    return list(zip(middles.tolist(), heights.tolist(), strict=True))


def _make_rank_axis(count: int) -> Axis:
    step = max(1, round(count / 8))
    nice = next(n for n in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 10**9) if n >= step)
    ticks: Sequence[int] = [1, *range(nice, count + 1, nice)] if nice > 1 else range(1, count + 1)
    return Axis(1.0, max(float(count), 2.0), tuple((float(n), show_number(n)) for n in ticks))


def _thin(values: NDArray[np.float64]) -> list[Point]:
    """Return the points (rank, value), at most `MOST_POINTS` of them, the ends among them."""
    chosen = np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int))
    return [(float(i + 1), float(values[i])) for i in chosen]
