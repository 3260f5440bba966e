"""Local colour statistics: the mean and the deviation of each channel in the cells of a patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes
from myriad.descriptors.cells import Doubles, measure_cells
from myriad.descriptors.descriptor import LocalDescriptors, check_image
from myriad.descriptors.geometry import BINS, patch_centres, resize
from myriad.descriptors.grid import GridDescriptor

CHANNELS = 3
_TIE = 1e-6  # an edge half-way between pixels goes up, whatever the last digits of a bin's width


@dataclass(frozen=True, eq=False)
class LocalColour(GridDescriptor, kind="local-colour"):
    """Colour statistics of the patches that dense SIFT describes [LS].

    Each patch of a `GridDescriptor` is cut into 4 x 4 cells, their edges at the nearest whole
    pixels; what lies outside the image does not exist. A cell gives the mean and the deviation of
    red, green and blue, values in [0, 1]: 16 x 6 = 96 numbers, in the order y, x, the three means,
    the three deviations.
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
        sums, squares = sum_above(resized)
        grids = self.grids(height, width)
        values = np.empty((sum(len(grid) for _, grid in grids), self.dim), np.float32)
        done = 0
        for bin_width, grid in grids:
            y = cell_edges(height, bin_width, self.step)
            x = cell_edges(width, bin_width, self.step)
            measure_cells(sums, squares, y, x, values[done : done + len(grid)])
            done += len(grid)
        return LocalDescriptors(values, np.concatenate([grid for _, grid in grids]))


def sum_above(image: Bytes) -> tuple[Doubles, Doubles]:
    """Return the sums of all bytes above and to the left of each corner, and of their squares."""
    found = cv2.integral2(image, sdepth=cv2.CV_64F, sqdepth=cv2.CV_64F)
    return np.asarray(found[0], np.float64), np.asarray(found[1], np.float64)


def cell_edges(length: int, bin_width: float, step: int) -> NDArray[np.int64]:
    """Return the first pixel of each cell of each patch along one axis, and of what comes behind.

    Returns
    -------
    int64 array of shape (patches, BINS + 1), within 0 to `length`. No cell is empty: its bin has
    its centre inside the image and is at least two pixels wide.
    """
    centres = patch_centres(length, bin_width, step)[:, None] + 0.5
    exact = centres + (np.arange(BINS + 1) - BINS / 2) * bin_width
    return np.clip(np.floor(exact + (0.5 + _TIE)).astype(np.int64), 0, length)
