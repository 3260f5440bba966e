"""Plots of codes: what features say about the class, and accuracy against the ratio [CC]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from myriad.report.plots.axes import (
    Axis,
    make_count_axis,
    make_percent_axis,
    make_value_axis,
    make_whole_percent_axis,
)
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import plural, show_count, show_number, show_percent, show_seconds

BARS = 20
KINDS = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-6")
"""Marks of the codes, in the order in which they come."""


def plot_information(information: ArrayLike, kept: int | None = None) -> Markup:
    """Draw the distribution of the features' mutual information with the class [CC, Figure 2].

    Parameters
    ----------
    information : bits, one per feature.
    kept : how many features a code keeps, the most informative ones; summary if given.
    """
    values = np.asarray(information, np.float64)
    top = float(values.max()) or 1.0
    counts, edges = np.histogram(values, bins=BARS, range=(0, top))
    canvas = Canvas(
        make_value_axis([0.0, top]),
        make_count_axis(float(counts.max())),
        x_title="mutual information with the class, bits",
        y_title="features",
    )
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        left, above = canvas.locate(low, count)
        right, foot = canvas.locate(high, 0)
        summary = f"{show_number(round(low, 4))} to {show_number(round(high, 4))} bits: "
        canvas.add(
            "rect",
            x=left + 0.5,
            y=above,
            width=max(0.5, right - left - 1),
            height=foot - above,
            class_="bar series-1",
            data_tip=summary + plural(count, "feature", "features"),
        )
    if kept is not None and kept < len(values):
        canvas.add_remark(f"the best {show_count(kept)} of {show_count(len(values))} are kept")
    middle = float(np.median(values))
    return canvas.render(
        f"Histogram of the mutual information of {show_count(len(values))} features with the "
        f"class: the median is {middle:.3g} bits, the highest {top:.3g}."
    )


def plot_shares(information: ArrayLike) -> Markup:
    """Draw the fraction of all information that the most informative features carry together."""
    values = np.sort(np.asarray(information, np.float64))[::-1]
    sums = np.cumsum(values) / (values.sum() or 1.0)
    canvas = Canvas(
        make_whole_percent_axis(),
        make_whole_percent_axis(),
        x_title="features, the most informative first, %",
        y_title="% of the information",
    )
    positions = np.unique(np.linspace(0, len(values) - 1, 101).astype(int))
    line = [(0.0, 0.0)] + [(100.0 * (i + 1) / len(values), 100.0 * sums[i]) for i in positions]
    canvas.add_line(line, "series-1")
    summary = compute_shares(values)
    canvas.add_dots(
        (
            (
                fraction,
                share,
                f"{show_percent(fraction, 0)} of the features carry {show_percent(share)}",
            )
            for fraction, share in summary
        ),
        "series-1",
        4.5,
    )
    listed = ", ".join(
        f"{show_percent(fraction, 0)}: {show_percent(share)}" for fraction, share in summary
    )
    return canvas.render(f"Information carried by the best features. {listed}.")


def compute_shares(information: ArrayLike) -> list[tuple[float, float]]:
    """Return pairs in percent: a fraction of the features, and the information that it carries."""
    values = np.sort(np.asarray(information, np.float64))[::-1]
    sums = np.cumsum(values) / (values.sum() or 1.0)
    fractions = (5.0, 10.0, 25.0, 50.0, 75.0)
    return [
        (fraction, 100.0 * sums[max(0, round(fraction / 100 * len(values)) - 1)])
        for fraction in fractions
    ]


def plot_ratios(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw accuracy against the ratio, a line for each code [CC, Figure 5].

    Parameters
    ----------
    rows : with ``codes``, ``ratio`` and ``top1`` in percent, as a comparison of codes has them;
        plain rows have the code ``none`` and are a horizontal line.
    """
    known = [row for row in rows if row["top1"] is not None]
    axis = make_percent_axis([row["top1"] for row in known])
    summary = "Top-1 accuracy over samples against the ratio"
    return _plot_lines(known, "top1", axis, "%", show_percent, summary)


def plot_times(rows: Sequence[Mapping[str, Any]], work: str) -> Markup:
    """Draw the seconds of ``coding``, ``training`` or ``predicting`` [CC, Figures 6 and 7]."""
    key = f"seconds_{work}"
    known = [row for row in rows if work != "coding" or row["codes"] != "none"]
    axis = make_value_axis([row[key] for row in known] or [0.0])
    return _plot_lines(known, key, axis, "s", show_seconds, f"Time of {work}")


def _plot_lines(
    rows: Sequence[Mapping[str, Any]],
    key: str,
    axis: Axis,
    unit: str,
    show: Callable[[float], str],
    title: str,
) -> Markup:
    """Draw a value against the ratio, a line for each code and a horizontal one for plain rows."""
    coded = [row for row in rows if row["codes"] != "none"]
    canvas = Canvas(
        make_value_axis([row["ratio"] for row in coded or rows] or [1.0]),
        axis,
        x_title="times smaller than float32",
        y_title=unit,
    )
    legend, summary = [], []
    for row in rows:
        if row["codes"] == "none":
            _, down = canvas.locate(canvas.x.low, row[key])
            end = canvas.width - canvas.right
            tip = f"plain rows: {show(row[key])}"
            canvas.add(
                "line", x1=canvas.left, x2=end, y1=down, y2=down, class_="level", data_tip=tip
            )
            summary.append(tip)
    for number, name in enumerate(dict.fromkeys(row["codes"] for row in coded)):
        kind = KINDS[number % len(KINDS)]
        some = sorted((row["ratio"], row[key]) for row in coded if row["codes"] == name)
        canvas.add_line(some, kind)
        tips = [
            (ratio, value, f"{name}, {show_number(ratio)} times smaller: {show(value)}")
            for ratio, value in some
        ]
        canvas.add_dots(tips, kind, 4.5)
        legend.append((kind, name))
        summary += [tip for _, _, tip in tips]
    canvas.add_key(legend)
    return canvas.render(f"{title}. " + "; ".join(summary) + ".")
