"""The size at which an image is described, and the positions of its patches."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float

BINS = 4
"""A patch has BINS x BINS spatial bins."""


def working_size(
    height: int, width: int, *, max_pixels: int, min_side: int, patch: int
) -> tuple[int, int]:
    """Return the height and width at which an image is described.

    The image is shrunk to `max_pixels` if it has more [GP 5.1], or enlarged until its smaller side
    has `min_side` pixels, as far as `max_pixels` allows; both keep its proportions. Only an image
    too long and thin for that (about 170 : 1 with the usual settings) is distorted: no side gets
    shorter than `patch`, and the longer one never exceeds ``max_pixels / patch``.
    """
    limit = sqrt(max_pixels / (height * width))
    zoom = min(limit, max(1.0, min_side / min(height, width)))
    longest = max_pixels // patch

    def fit(side: int) -> int:
        return min(max(int(side * zoom + 0.5), patch), longest)

    return fit(height), fit(width)


def resize(image: Bytes, height: int, width: int) -> Bytes:
    """Return the image at another size: by area when it shrinks, else by bilinear interpolation."""
    if image.shape[:2] == (height, width):
        return image
    shrinks = height * width < image.shape[0] * image.shape[1]
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=method), dtype=np.uint8)


@lru_cache(maxsize=256)
def patch_centres(length: int, bin_width: float, step: int) -> NDArray[np.float64]:
    """Return the patch centres along one axis of `length` pixels.

    Centres are `step` apart, as many as keep the centres of the outermost bins inside the image
    (VLFeat's rule), and the grid is centred, so that a mirrored image has mirrored patches.
    """
    reach = (BINS - 1) * bin_width
    count = max(0, int((length - 1 - reach) // step) + 1)
    centres = np.arange(count, dtype=np.float64) * step + (length - 1 - step * (count - 1)) / 2
    centres.flags.writeable = False
    return centres


@lru_cache(maxsize=256)
def patch_positions(height: int, width: int, bin_width: float, step: int) -> Float:
    """Return x and y of all patch centres as fractions of the image, row by row.

    Returns
    -------
    float32 array of shape (rows * columns, 2), read-only.
    """
    x = (patch_centres(width, bin_width, step) + 0.5) / width
    y = (patch_centres(height, bin_width, step) + 0.5) / height
    positions = np.empty((len(y), len(x), 2), np.float32)
    positions[:, :, 0] = x
    positions[:, :, 1] = y[:, None]
    flat = positions.reshape(-1, 2)
    flat.flags.writeable = False
    return flat
