"""Dense SIFT: histograms of gradient orientations on a grid of patches at several scales."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import cv2
import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import LocalDescriptors, check_image
from myriad.descriptors.geometry import BINS, resize
from myriad.descriptors.gradients import ORIENTATIONS, allocate_planes, orient_gradients
from myriad.descriptors.grid import GridDescriptor
from myriad.descriptors.pooling import normalise_histograms, sum_band, swap_axes, take_roots
from myriad.descriptors.windows import WINDOWS, window_table
from myriad.errors import InputError

_NOMINAL = 0.5  # the smoothing of a camera image itself, in pixels


@dataclass(frozen=True, eq=False)
class DenseSIFT(GridDescriptor, kind="dense-sift"):
    """Dense SIFT [GP 5.1]: 4 x 4 bins with 8 orientations for each patch of a `GridDescriptor`.

    Parameters
    ----------
    contrast : a patch whose histogram (the mean gradient of the patch, grey values in [0, 1], by
        bin and orientation) has a smaller L2 norm becomes the zero vector; it is kept, because
        the empty areas of an image are informative too.
    window : ``"gaussian"`` or ``"flat"`` (see `windows`); both take the same time.
    smoothing : each scale uses the image smoothed by a Gaussian of this standard deviation, in
        widths of its bins; 1/6 is VLFeat's choice. Without smoothing, the default, large patches
        keep fine texture: on 15 classes of scenes that was worth 2 points of accuracy.
    root : whether to take the square root of the L1-normalised descriptor (RootSIFT), so that
        distances weight small and large bins alike.
    """

    contrast: float = 0.001
    window: str = "gaussian"
    smoothing: float = 0.0
    root: bool = True

    dim: ClassVar[int] = BINS * BINS * ORIENTATIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("contrast", "smoothing"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name} of dense SIFT must be a number 0 to 1, not {value!r}.")
        if self.window not in WINDOWS or type(self.root) is not bool:
            raise InputError("window of dense SIFT must be gaussian or flat, root true or false.")

    def describe(self, image: Bytes) -> LocalDescriptors:
        """Return the descriptors of a grey image, scale by scale, each from top left.

        Parameters
        ----------
        image : uint8 array of shape (height, width).
        """
        check_image(image, colour=False)
        height, width = self.working_size(image)
        grey = resize(image, height, width).astype(np.float32) * np.float32(1 / 255)
        grids = self.grids(height, width)
        values = np.empty((sum(len(grid) for _, grid in grids), self.dim), np.float32)
        planes = allocate_planes(height, width)
        scratch = self._scratch(height, width)
        done, smoothed = 0, -1.0
        for bin_width, grid in grids:
            sigma = sqrt(max((self.smoothing * bin_width) ** 2 - _NOMINAL**2, 0.0))
            if sigma != smoothed:
                orient_gradients(smooth_image(grey, sigma), planes)
                smoothed = sigma
            self._describe_scale(planes, bin_width, scratch, values[done : done + len(grid)])
            done += len(grid)
        if self.root:
            take_roots(values)
        return LocalDescriptors(values, np.concatenate([grid for _, grid in grids]))

    def _scratch(self, height: int, width: int) -> tuple[Float, Float]:
        """Return working space for the scale that needs most, the first; allocation is slow."""
        rows = len(window_table(height, self.patch / BINS, self.step, self.window)[0])
        columns = len(window_table(width, self.patch / BINS, self.step, self.window)[0])
        size = rows * max(columns, width) * ORIENTATIONS
        return np.empty(size, np.float32), np.empty(size, np.float32)

    def _describe_scale(
        self, planes: Float, bin_width: float, scratch: tuple[Float, Float], values: Float
    ) -> None:
        """Fill `values`, one row a patch, from the orientation planes (height, width, 8)."""
        height, width, _ = planes.shape
        y_starts, y_weights = window_table(height, bin_width, self.step, self.window)
        x_starts, x_weights = window_table(width, bin_width, self.step, self.window)
        rows, columns = len(y_starts), len(x_starts)
        by_y = _shape(scratch[0], rows, width)
        sum_band(planes.reshape(height, -1), y_starts, y_weights, by_y.reshape(rows, -1))
        by_x = _shape(scratch[1], width, rows)
        swap_axes(by_y, by_x)
        sums = _shape(scratch[0], columns, rows)
        sum_band(by_x.reshape(width, -1), x_starts, x_weights, sums.reshape(columns, -1))
        normalise_histograms(sums, values, np.float32(self.contrast))


def _shape(room: Float, height: int, width: int) -> Float:
    """Return the front of a flat array as (height, width, 8)."""
    return room[: height * width * ORIENTATIONS].reshape(height, width, ORIENTATIONS)


def smooth_image(image: Float, sigma: float) -> Float:
    """Return a float32 image convolved with a Gaussian of deviation `sigma` pixels."""
    if sigma < 0.01:
        return image
    size = 2 * int(np.ceil(4 * sigma)) + 1
    smooth = cv2.GaussianBlur(image, (size, size), sigma, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth, dtype=np.float32)
