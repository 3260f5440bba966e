"""Means and deviations over rectangles of an image: the kernel of local colour statistics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.arrays import Float

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]


@jit
def measure_cells(sums: Doubles, squares: Doubles, y: Longs, x: Longs, values: Float) -> None:
    """Set the mean and the deviation of each channel in the 4 x 4 cells of all patches.

    Parameters
    ----------
    sums, squares : float64 arrays of shape (height + 1, width + 1, 3), of all bytes above and to
        the left, and of their squares: whole numbers, so differences of them are exact; read.
    y, x : int64 arrays of shape (rows, 5) and (columns, 5), the edges of a patch's cells, read.
    values : float32 array of shape (rows * columns, 96), set, in units of 255; cells in the order
        y, x, each with three means, then three deviations.
    """
    columns = x.shape[0]
    for p in range(values.shape[0]):
        edges_y = y[p // columns]
        edges_x = x[p % columns]
        for cell in range(16):
            top, bottom = edges_y[cell // 4], edges_y[cell // 4 + 1]
            left, right = edges_x[cell % 4], edges_x[cell % 4 + 1]
            size = np.float64((bottom - top) * (right - left))
            for c in range(3):
                total = sums[bottom, right, c] - sums[top, right, c]
                total -= sums[bottom, left, c] - sums[top, left, c]
                square = squares[bottom, right, c] - squares[top, right, c]
                square -= squares[bottom, left, c] - squares[top, left, c]
                # Whole numbers to the end: a cell of one colour has a deviation of exactly 0.
                spread = np.sqrt(max(square * size - total * total, 0.0))
                values[p, cell * 6 + c] = total / (255.0 * size)
                values[p, cell * 6 + 3 + c] = spread / (255.0 * size)
