"""A histogram of the accuracies of the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from myriad.report.plots.axes import make_count_axis, make_whole_percent_axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import plural, show_count, show_percent


def plot_histogram(accuracies: Sequence[float], mean: float | None) -> Markup:
    """Draw how many classes have which top-1 accuracy, in bars ten points wide.

    Parameters
    ----------
    accuracies : percentages, one a class; 100 falls into the last bar.
    mean : their mean, marked if given.
    """
    counts, edges = np.histogram(np.asarray(accuracies, dtype=np.float64), bins=10, range=(0, 100))
    canvas = Canvas(
        make_whole_percent_axis(),
        make_count_axis(float(counts.max())),
        x_title="top-1 accuracy of a class, %",
        y_title="classes",
    )
    told = []
    for count, low, high in zip(counts.tolist(), edges[:-1], edges[1:], strict=True):
        closing = "to 100" if high == 100 else f"to below {high:.0f}"
        told.append(f"{low:.0f} {closing}{chr(160)}%: {plural(count, 'class', 'classes')}")
        if count:
            _draw_bar(canvas, (low, high), count, told[-1])
    if mean is not None:
        across, foot = canvas.place(mean, 0)
        canvas.add("line", x1=across, x2=across, y1=22.0, y2=foot, class_="level")
        side = "end" if mean > 50 else "start"
        shift = -6 if mean > 50 else 6
        label = f"mean {show_percent(mean)}"
        canvas.add("text", label, x=across + shift, y=16.5, text_anchor=side, class_="note")
    return canvas.render("Histogram of the top-1 accuracy of classes. " + "; ".join(told) + ".")


def _draw_bar(canvas: Canvas, ends: tuple[float, float], count: int, tip: str) -> None:
    left, top = canvas.place(ends[0], count)
    right, foot = canvas.place(ends[1], 0)
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
