"""Local colour statistics: mean and standard deviation of each channel in the cells of a patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import LocalDescriptors, check_image
from myriad.descriptors.grid import BINS, GridDescriptor, patch_centres, resize

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]

CHANNELS = 3
_TIE = 1e-6  # so that an edge half-way between pixels is rounded up in spite of rounding errors


@dataclass(frozen=True, eq=False)
class LocalColour(GridDescriptor, kind="local-colour"):
    """Colour statistics of the patches that dense SIFT describes [LS].

    Each patch of a `GridDescriptor` is divided into 4 x 4 cells, their edges rounded to pixels;
    pixels outside the image are ignored. A cell gives the mean and the standard deviation of red,
    green and blue, values in [0, 1]: 16 x 6 = 96 numbers, in the order y, x, the three means, the
    three deviations.
    """

    dim: ClassVar[int] = BINS * BINS * 2 * CHANNELS
    colour: ClassVar[bool] = True

    def describe(self, image: Bytes) -> LocalDescriptors:
        """Return the descriptors of a colour image, scale by scale, each from top left.

        Parameters
        ----------
        image : uint8 array of shape (height, width, 3).
        """
        check_image(image, colour=True)
        height, width = self.working_size(image)
        resized = np.ascontiguousarray(resize(image, height, width))
        sums, squares = integral_images(resized)
        grids = self.grids(height, width)
        values = np.empty((sum(len(grid) for _, grid in grids), self.dim), np.float32)
        done = 0
        for bin_width, grid in grids:
            y = cell_edges(height, bin_width, self.step)
            x = cell_edges(width, bin_width, self.step)
            _measure_cells(sums, squares, y, x, values[done : done + len(grid)])
            done += len(grid)
        return LocalDescriptors(values, np.concatenate([grid for _, grid in grids]))


def integral_images(image: Bytes) -> tuple[Doubles, Doubles]:
    """Return the integral images of the bytes and of their squares."""
    found = cv2.integral2(image, sdepth=cv2.CV_64F, sqdepth=cv2.CV_64F)
    return np.asarray(found[0], np.float64), np.asarray(found[1], np.float64)


def cell_edges(length: int, bin_width: float, step: int) -> NDArray[np.int64]:
    """Return the edges of the cells of each patch along one axis, in pixels.

    Returns
    -------
    int64 array of shape (patches, BINS + 1), within 0 to `length`. No cell is empty: its bin has
    its centre inside the image and is at least two pixels wide.
    """
    centres = patch_centres(length, bin_width, step)[:, None] + 0.5
    exact = centres + (np.arange(BINS + 1) - BINS / 2) * bin_width
    return np.clip(np.floor(exact + (0.5 + _TIE)).astype(np.int64), 0, length)


@jit
def _measure_cells(sums: Doubles, squares: Doubles, y: Longs, x: Longs, values: Float) -> None:
    """Set the mean and the standard deviation of each channel in the 4 x 4 cells of all patches.

    Parameters
    ----------
    sums, squares : float64 arrays of shape (height + 1, width + 1, 3), integral images of the bytes
        and of their squares: whole numbers, so differences of them are exact.
    y, x : int64 arrays of shape (rows, 5) and (columns, 5), the edges of a patch's cells.
    values : float32 array of shape (rows * columns, 96), filled, in units of 255; cells in the
        order y, x, each with three means, then three deviations.
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
                # Integers up to here: a cell of one colour has a deviation of exactly 0.
                spread = np.sqrt(max(square * size - total * total, 0.0))
                values[p, cell * 6 + c] = total / (255.0 * size)
                values[p, cell * 6 + 3 + c] = spread / (255.0 * size)
