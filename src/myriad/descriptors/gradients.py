"""The gradient of an image, its magnitude divided among eight orientations."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit_reassociated
from myriad.arrays import Float, Ints

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
