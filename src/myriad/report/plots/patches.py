"""Descriptors as drawings: gradients as stars, colours as tiles."""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from myriad.report.plots.canvas import element

CELLS, ORIENTATIONS = 4, 8
SIDE = 100.0
_CELL = SIDE / CELLS


def draw_gradients(values: NDArray[np.floating]) -> Markup:
    """Draw a SIFT descriptor: in each of 4 x 4 cells a star, its eight rays as long as the bins."""
    bins = np.maximum(values.reshape(CELLS, CELLS, ORIENTATIONS).astype(np.float64), 0.0)
    reach = 0.48 * _CELL / max(float(bins.max()), 1e-12)
    rays = []
    for y, x, o in zip(*np.nonzero(bins > 0.02 * bins.max()), strict=True):
        cx, cy = (x + 0.5) * _CELL, (y + 0.5) * _CELL
        angle = o * 2 * math.pi / ORIENTATIONS
        length = reach * bins[y, x, o]
        tip_x, tip_y = cx + length * math.cos(angle), cy + length * math.sin(angle)
        rays.append(element("line", x1=float(cx), y1=float(cy), x2=tip_x, y2=tip_y, class_="ray"))
    top = np.unravel_index(int(bins.argmax()), bins.shape)
    return _frame(
        Markup("").join([*_lines(), *rays]),
        f"Gradients of the patch in 4 x 4 cells; the strongest is in row {top[0] + 1}, column "
        f"{top[1] + 1}.",
    )


def draw_colours(values: NDArray[np.floating]) -> Markup:
    """Draw colour statistics: each of 4 x 4 cells in its mean colour.

    Parameters
    ----------
    values : 96 numbers: for each cell the means of red, green and blue, then their deviations.
    """
    cells = values.reshape(CELLS, CELLS, 2, 3).astype(np.float64)
    tiles = []
    for y in range(CELLS):
        for x in range(CELLS):
            red, green, blue = np.clip(np.rint(255 * cells[y, x, 0]), 0, 255).astype(int)
            deviation = show_deviations(cells[y, x, 1])
            tiles.append(
                element(
                    "rect",
                    x=x * _CELL,
                    y=y * _CELL,
                    width=_CELL,
                    height=_CELL,
                    fill=f"rgb({red},{green},{blue})",
                    data_tip=f"red {red}, green {green}, blue {blue}; deviations {deviation}",
                )
            )
    return _frame(Markup("").join(tiles), "Mean colours of the patch in 4 x 4 cells.")


def show_deviations(values: NDArray[np.floating]) -> str:
    """Write the deviations of the three channels as whole grey values."""
    return ", ".join(str(int(value)) for value in np.rint(255 * values))


def _lines() -> list[Markup]:
    lines = [i * _CELL for i in range(1, CELLS)]
    across = [element("line", x1=0.0, x2=SIDE, y1=p, y2=p, class_="grid") for p in lines]
    down = [element("line", x1=p, x2=p, y1=0.0, y2=SIDE, class_="grid") for p in lines]
    return across + down


def _frame(content: Markup, description: str) -> Markup:
    box = f"0 0 {SIDE:.0f} {SIDE:.0f}"
    return element(
        "svg", content, viewBox=box, role="img", class_="plot drawing", aria_label=description
    )
