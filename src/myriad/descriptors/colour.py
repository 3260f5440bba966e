"""Local colour statistics: the mean and the deviation of each channel in the cells of a patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
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
        # Sums of whole numbers are exact in float64, so cells may be differences of large sums.
        sums, squares = cv2.integral2(resized, sdepth=cv2.CV_64F, sqdepth=cv2.CV_64F)
        totals = np.concatenate([sums, squares], axis=2)
        grids = self.grids(height, width)
        values = [self._describe_scale(totals, bin_width) for bin_width, _ in grids]
        positions = [grid for _, grid in grids]
        return LocalDescriptors(np.concatenate(values), np.concatenate(positions))

    def _describe_scale(self, totals: NDArray[np.float64], bin_width: float) -> Float:
        """Return the descriptors of one scale.

        Parameters
        ----------
        totals : float64 array of shape (height + 1, width + 1, 6), of each channel and its square
            the sum over all pixels above and to the left.
        """
        height, width = totals.shape[0] - 1, totals.shape[1] - 1
        top, bottom = cell_edges(height, bin_width, self.step)
        left, right = cell_edges(width, bin_width, self.step)
        strips = totals[bottom] - totals[top]
        cells = strips[:, right] - strips[:, left]
        cells /= ((bottom - top)[:, None] * (right - left))[..., None]
        means, squares = cells[..., :CHANNELS], cells[..., CHANNELS:]
        np.sqrt(np.maximum(squares - means**2, 0.0), out=squares)
        cells *= 1 / 255
        rows, columns = len(top) // BINS, len(left) // BINS
        by_patch = cells.reshape(rows, BINS, columns, BINS, -1).swapaxes(1, 2)
        return by_patch.reshape(rows * columns, self.dim).astype(np.float32)


def cell_edges(
    length: int, bin_width: float, step: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first pixel of each cell along one axis, and the first one behind it.

    Both have shape (patches * BINS,). No cell is empty: its bin has its centre inside the image and
    is at least two pixels wide.
    """
    centres = patch_centres(length, bin_width, step)[:, None] + 0.5
    exact = centres + (np.arange(BINS + 1) - BINS / 2) * bin_width
    edges = np.floor(exact + (0.5 + _TIE)).astype(np.int64)
    edges = np.clip(edges, 0, length)
    return edges[:, :-1].ravel(), edges[:, 1:].ravel()
