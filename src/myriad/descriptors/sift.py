"""Dense SIFT: histograms of gradient orientations on a grid of patches at several scales."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import cv2
import numpy as np

from myriad._jit import inlined, jit_reassociated
from myriad.arrays import Bytes, Float, Ints
from myriad.descriptors.descriptor import LocalDescriptors, check_image
from myriad.descriptors.grid import BINS, GridDescriptor, resize
from myriad.descriptors.pooling import (
    WINDOWS,
    normalise_histograms,
    sum_band,
    swap_axes,
    take_roots,
    window_table,
)
from myriad.descriptors.registry import SiftOptions
from myriad.errors import InputError
from myriad.serialisation import check_type, is_number

_NOMINAL = 0.5  # the smoothing of a camera image itself, in pixels
ORIENTATIONS = 8

# An odd polynomial in t for (4 / pi) atan(t) on [0, 1], fitted for the least largest error
# (2.2e-6).
_A1, _A3, _A5 = np.float32(1.2732105), np.float32(-0.42350854), np.float32(0.24642324)
_A7, _A9, _A11 = np.float32(-0.14823876), np.float32(0.067032643), np.float32(-0.014921248)
_TINY = np.float32(1e-30)


@inlined
def octant_fraction(t: np.float32) -> np.float32:
    """Return the angle whose tangent is `t` in [0, 1], in units of 45 degrees, to 1e-5."""
    s = t * t
    return t * (_A1 + s * (_A3 + s * (_A5 + s * (_A7 + s * (_A9 + s * _A11)))))


@jit_reassociated
def orient_row(gx: Float, gy: Float, axial: Float, diagonal: Float, slots: Ints) -> None:
    """Split each gradient between the two orientations nearest to it, linearly in the angle.

    One of the two is along an axis (orientations 0, 2, 4, 6), the other along a diagonal (1, 3, 5,
    7), so both follow from signs and one comparison, and the loop runs in vector registers.

    Parameters
    ----------
    gx, gy : float32 arrays of shape (width,).
    axial, diagonal : float32 arrays of shape (width,), filled with both shares of the magnitude.
    slots : int32 array of shape (2, width), filled with the two orientations.
    """
    for x in range(gx.size):
        dx = gx[x]
        dy = gy[x]
        ax = abs(dx)
        ay = abs(dy)
        steep = ay > ax
        larger = ay if steep else ax
        smaller = ax if steep else ay
        magnitude = np.sqrt(dx * dx + dy * dy)
        share = magnitude * octant_fraction(smaller / (larger + _TINY))
        axial[x] = magnitude - share
        diagonal[x] = share
        along_x = np.int32(0) if dx >= 0 else np.int32(4)
        along_y = np.int32(2) if dy >= 0 else np.int32(6)
        slots[0, x] = along_y if steep else along_x
        right = np.int32(1) if dy >= 0 else np.int32(7)
        left = np.int32(3) if dy >= 0 else np.int32(5)
        slots[1, x] = right if dx >= 0 else left


@jit_reassociated
def orient_gradients(image: Float, planes: Float) -> None:
    """Compute the gradient at every pixel and divide its magnitude among eight orientations.

    Orientation `o` is the direction ``(cos(o pi / 4), sin(o pi / 4))`` with y pointing down.
    Differences are central inside the image and one-sided on its border.

    Parameters
    ----------
    image : float32 array of shape (height, width), both at least 2.
    planes : float32 array of shape (height, width, 8), filled.
    """
    height, width = image.shape
    half = np.float32(0.5)
    gx = np.empty(width, np.float32)
    gy = np.empty(width, np.float32)
    shares = np.empty((2, width), np.float32)
    slots = np.empty((2, width), np.int32)
    for y in range(height):
        above = image[max(y - 1, 0)]
        below = image[min(y + 1, height - 1)]
        row = image[y]
        scale = half if 0 < y < height - 1 else np.float32(1.0)
        for x in range(width):
            gy[x] = (below[x] - above[x]) * scale
        for x in range(1, width - 1):
            gx[x] = (row[x + 1] - row[x - 1]) * half
        gx[0] = row[1] - row[0]
        gx[width - 1] = row[width - 1] - row[width - 2]
        orient_row(gx, gy, shares[0], shares[1], slots)
        planes[y] = np.float32(0.0)
        for x in range(width):
            planes[y, x, slots[0, x]] = shares[0, x]
            planes[y, x, slots[1, x]] = shares[1, x]


def allocate_planes(height: int, width: int) -> Float:
    """Return an empty array for the orientation planes of an image."""
    return np.empty((height, width, ORIENTATIONS), np.float32)


@dataclass(frozen=True, eq=False)
class DenseSIFT(SiftOptions, GridDescriptor, kind="dense-sift"):
    """Dense SIFT [GP 5.1]: 4 x 4 bins with 8 orientations for each patch of a `GridDescriptor`.

    Parameters
    ----------
    contrast, root : see `SiftOptions`.
    window : ``"gaussian"`` or ``"flat"`` (see `pooling`); both take the same time.
    smoothing : each scale uses the image smoothed by a Gaussian of this standard deviation, in
        widths of its bins; 1/6 is VLFeat's choice. Without smoothing, the default, large patches
        keep fine texture: on 15 classes of scenes that was worth 2 points of accuracy.
    keep_empty : whether patches with a zero vector are kept. Without them, no Gaussian of a mixture
        is spent on empty areas. Models of earlier versions kept them.
    """

    window: str = "gaussian"
    smoothing: float = 0.0
    keep_empty: bool = True

    dim: ClassVar[int] = BINS * BINS * ORIENTATIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_type(self.keep_empty, bool, "keep_empty of dense SIFT")
        if not is_number(self.smoothing) or not 0 <= self.smoothing <= 1:
            raise InputError(f"smoothing must be a number from 0 to 1, not {self.smoothing!r}.")
        if self.window not in WINDOWS:
            raise InputError(f"window must be gaussian or flat, not {self.window!r}.")

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
        positions = np.concatenate([grid for _, grid in grids])
        if self.keep_empty:
            return LocalDescriptors(values, positions)
        full = np.flatnonzero(values.any(axis=1))
        return LocalDescriptors(values[full], positions[full], full)

    def _scratch(self, height: int, width: int) -> tuple[Float, Float]:
        """Return work space for all scales: the first needs most. Allocating it once saves time."""
        rows = len(window_table(height, self.patch / BINS, self.step, self.window)[0])
        columns = len(window_table(width, self.patch / BINS, self.step, self.window)[0])
        size = rows * max(columns, width) * ORIENTATIONS
        return np.empty(size, np.float32), np.empty(size, np.float32)

    def _describe_scale(
        self, planes: Float, bin_width: float, scratch: tuple[Float, Float], values: Float
    ) -> None:
        """Fill `values`, one row per patch, from the orientation planes (height, width, 8)."""
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


def _shape(buffer: Float, height: int, width: int) -> Float:
    """Return the front of a flat array as (height, width, 8)."""
    return buffer[: height * width * ORIENTATIONS].reshape(height, width, ORIENTATIONS)


def smooth_image(image: Float, sigma: float) -> Float:
    """Return a float32 image convolved with a Gaussian of deviation `sigma` pixels."""
    if sigma < 0.01:
        return image
    size = 2 * int(np.ceil(4 * sigma)) + 1
    smooth = cv2.GaussianBlur(image, (size, size), sigma, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth, dtype=np.float32)
