"""The base of descriptors on a dense grid: the size of the image and the positions of patches."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from myriad.arrays import Bytes, Float
from myriad.descriptors.descriptor import Descriptor
from myriad.descriptors.geometry import BINS, patch_positions, working_size
from myriad.descriptors.registry import GridOptions
from myriad.errors import InputError
from myriad.options import options_of

Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class GridDescriptor(GridOptions, Descriptor):
    """The base of descriptors of patches on a grid, in the geometry of [GP 5.1].

    An image is first resized to its working size (`geometry.working_size`: large ones shrunk to
    `max_pixels`, small ones enlarged). Patches of 4 x 4 bins lie on it, `step` pixels apart at
    every scale; patches grow by sqrt 2 a scale, and a scale whose patch does not fit is left out.
    The parameters are those of `GridOptions`.
    """

    def __post_init__(self) -> None:
        for name, known in options_of(GridOptions).items():
            value = getattr(self, name)
            if type(value) is not int or not known.minimum <= value <= known.maximum:  # type: ignore[operator]
                raise InputError(
                    f"{name} of {self.kind} must be {known.minimum} to {known.maximum}, "
                    f"not {value!r}."
                )
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
        """Return the box of each descriptor's patch: left, top, right, bottom in fractions."""
        height, width = self.working_size(image)
        boxes = []
        for bin_width, positions in self.grids(height, width):
            x, y = BINS / 2 * bin_width / width, BINS / 2 * bin_width / height
            boxes += [(px - x, py - y, px + x, py + y) for px, py in positions.tolist()]
        return boxes
