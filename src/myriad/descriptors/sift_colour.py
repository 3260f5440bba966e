"""SIFT and local colour statistics of the same patches, concatenated."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import cv2
import numpy as np

from myriad.arrays import Bytes
from myriad.descriptors.colour import LocalColour
from myriad.descriptors.descriptor import LocalDescriptors, check_image
from myriad.descriptors.registry import GridOptions
from myriad.descriptors.sift import DenseSIFT
from myriad.errors import InputError
from myriad.serialisation import is_number


@dataclass(frozen=True, eq=False)
class SiftColour(DenseSIFT, kind="sift-colour"):
    """Dense SIFT of the grey image, followed by the colour statistics of the same patch.

    [LS] reduces SIFT and local colour together to 128 dimensions and learns one mixture of them, so
    that a Gaussian represents a texture of certain colours.

    Parameters
    ----------
    share : factor of the colour statistics. One half makes their variance about that of SIFT in
        photographs, so that a PCA of both keeps enough of each.
    """

    share: float = 0.5

    dim: ClassVar[int] = DenseSIFT.dim + LocalColour.dim
    colour: ClassVar[bool] = True
    pca_dim: ClassVar[int] = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.share) or not 0 < self.share <= 100:
            raise InputError(f"share of colour must be above 0 and at most 100: {self.share!r}.")

    @cached_property
    def parts(self) -> tuple[DenseSIFT, LocalColour]:
        """The two descriptors."""
        grid = {field.name: getattr(self, field.name) for field in fields(GridOptions)}
        sift = {field.name: getattr(self, field.name) for field in fields(DenseSIFT)}
        # Patches of one colour have no gradient, but are described by that colour.
        return DenseSIFT(**sift | {"keep_empty": True}), LocalColour(**grid)

    def describe(self, image: Bytes) -> LocalDescriptors:
        """Return the descriptors of a colour image, scale by scale, each from top left.

        Parameters
        ----------
        image : uint8 array of shape (height, width, 3) in RGB.
        """
        check_image(image, colour=True)
        grey = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
        sift, colour = self.parts
        shapes = sift.describe(np.asarray(grey, dtype=np.uint8))
        colours = colour.describe(image)
        scaled = colours.values * np.float32(self.share)
        return LocalDescriptors(np.hstack([shapes.values, scaled]), shapes.positions)
