"""Responses of a bank of filters (edges, bars and spots), which are clustered into textons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import cv2
import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import Descriptor, LocalDescriptors, check_image
from myriad.descriptors.grid import resize, working_size
from myriad.descriptors.registry import GridOptions
from myriad.options import check_options, same_option
from myriad.serialisation import check_count

ORIENTATIONS = 6
SIDE = 15
"""Pixels of a filter's side."""
SMALLEST = 16
"""A scale at which the smaller side of the image has fewer pixels is left out."""


@dataclass(frozen=True, eq=False)
class FilterBank(Descriptor, kind="filter-bank"):
    """Filter responses at the points of a grid, at several scales (Leung and Malik 1999).

    The filters are first and second derivatives of an elongated Gaussian in six orientations
    (edges and bars), a Laplacian of a Gaussian (spots) and a Gaussian (brightness): 14 numbers. The
    image is halved from one scale to the next.

    Attributes
    ----------
    step : pixels from one point to the next, at each scale.
    scales : number of scales.
    max_pixels, min_side : as those of `GridOptions`.
    """

    step: int = same_option(GridOptions, "step")
    scales: int = 3
    max_pixels: int = same_option(GridOptions, "max_pixels")
    min_side: int = same_option(GridOptions, "min_side")

    dim: ClassVar[int] = 2 * ORIENTATIONS + 2
    pca_dim: ClassVar[int] = 2 * ORIENTATIONS + 2

    def __post_init__(self) -> None:
        check_options(self)
        check_count(self.scales, "The number of scales")

    @property
    def pixels(self) -> int | None:
        """The most pixels that are used."""
        return self.max_pixels

    def shrink(self, image: Bytes) -> list[Bytes]:
        """Return the image, grey or in colour, at each scale."""
        height, width = working_size(
            *image.shape[:2], max_pixels=self.max_pixels, min_side=self.min_side, patch=SMALLEST
        )
        found = [resize(image, height, width)]
        for _ in range(1, self.scales):
            height, width = height // 2, width // 2
            if min(height, width) < SMALLEST:
                break
            found.append(resize(found[-1], height, width))
        return found

    def respond(self, image: Bytes) -> LocalDescriptors:
        """Return the responses to a grey image of one scale, row by row."""
        values = image.astype(np.float32) / np.float32(255)
        first = self.step // 2
        rows = np.arange(min(first, image.shape[0] - 1), image.shape[0], self.step)
        columns = np.arange(min(first, image.shape[1] - 1), image.shape[1], self.step)
        points = np.ix_(rows, columns)
        responses = np.stack(
            [
                cv2.filter2D(values, cv2.CV_32F, kernel, borderType=cv2.BORDER_REFLECT_101)[points]
                for kernel in make_filters()
            ],
            axis=-1,
        )
        positions = np.empty((len(rows), len(columns), 2), np.float32)
        positions[:, :, 0] = (columns + 0.5) / image.shape[1]
        positions[:, :, 1] = ((rows + 0.5) / image.shape[0])[:, None]
        return LocalDescriptors(
            np.ascontiguousarray(responses.reshape(-1, self.dim), np.float32),
            positions.reshape(-1, 2),
        )

    def describe(self, image: Bytes) -> LocalDescriptors:
        """Return the responses to a grey image, scale by scale."""
        check_image(image, colour=False)
        found = [self.respond(scaled) for scaled in self.shrink(image)]
        return LocalDescriptors(
            np.concatenate([one.values for one in found]),
            np.concatenate([one.positions for one in found]),
        )


@lru_cache(maxsize=1)
def make_filters() -> tuple[Float, ...]:
    """Return the filters, float32 arrays of shape (SIDE, SIDE).

    All but the Gaussian have mean 0; all have an L1 norm of 1, so that responses are comparable.
    """
    reach = SIDE // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1].astype(np.float64)
    along, across = 3.0, 1.0
    filters = []
    for number in range(ORIENTATIONS):
        angle = np.pi * number / ORIENTATIONS
        u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        bell = np.exp(-(u**2) / (2 * along**2) - v**2 / (2 * across**2))
        filters += [-v * bell, (v**2 / across**2 - 1) * bell]
    square = x**2 + y**2
    filters.append((square / (2 * 1.5**2) - 1) * np.exp(-square / (2 * 1.5**2)))
    bell = np.exp(-square / (2 * 1.5**2))
    found = []
    for kernel in filters:
        kernel = kernel - kernel.mean()
        found.append((kernel / np.abs(kernel).sum()).astype(np.float32))
    return (*found, (bell / bell.sum()).astype(np.float32))
