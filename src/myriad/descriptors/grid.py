"""Descriptors on a dense grid: the size at which an image is described, and its patches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import Descriptor
from myriad.descriptors.registry import GridOptions
from myriad.errors import InputError
from myriad.options import check_options

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


Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class GridDescriptor(GridOptions, Descriptor):
    """The base of descriptors of patches on a grid, in the geometry of [GP 5.1].

    An image is first resized to its working size (`working_size`: large ones shrunk to
    `max_pixels`, small ones enlarged). Patches of 4 x 4 bins lie on it, `step` pixels apart at
    every scale; patches grow by sqrt 2 per scale, and a scale whose patch does not fit is left out.
    The parameters are those of `GridOptions`.
    """

    def __post_init__(self) -> None:
        check_options(self)
        if self.max_pixels < self.patch**2:
            raise InputError(f"max_pixels of {self.kind} must be at least {self.patch}², a patch.")

    @property
    def pixels(self) -> int | None:
        """The most pixels that are used."""
        return self.max_pixels

    def working_size(self, image: Bytes) -> tuple[int, int]:
        """Return the height and width at which an image is described."""
        height, width = image.shape[:2]
        return working_size(
            height, width, max_pixels=self.max_pixels, min_side=self.min_side, patch=self.patch
        )

    def grids(self, height: int, width: int) -> list[tuple[float, Float]]:
        """Return the width of a bin and the positions of all patches, scale by scale.

        Parameters
        ----------
        height, width : of the image at its working size.
        """
        widths = [self.patch / BINS * sqrt(2) ** s for s in range(self.scales)]
        found = [(w, patch_positions(height, width, w, self.step)) for w in widths]
        return [(w, positions) for w, positions in found if len(positions)]

    def find_patches(self, image: Bytes) -> list[Box]:
        """Return the box of each patch: left, top, right, bottom in fractions.

        `LocalDescriptors.patches` says which of them have descriptors.
        """
        height, width = self.working_size(image)
        boxes = []
        for bin_width, positions in self.grids(height, width):
            x, y = BINS / 2 * bin_width / width, BINS / 2 * bin_width / height
            boxes += [(px - x, py - y, px + x, py + y) for px, py in positions.tolist()]
        return boxes
