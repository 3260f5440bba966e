"""The registry of local descriptors, by the value of ``--descriptor``.

A new descriptor is one file with its class (see `myriad.descriptors.descriptor.Descriptor`), its
test, and one entry here; an entry may also be added from outside the package::

    DESCRIPTORS["mine"] = MyDescriptorSpec()

This module imports nothing heavy: the help of the command is built from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from myriad.errors import InputError, did_you_mean
from myriad.options import option

if TYPE_CHECKING:
    from myriad.descriptors.descriptor import Descriptor


@dataclass(frozen=True, eq=False)
class GridOptions:
    """The geometry of patches on a dense grid [GP 5.1], the same for all descriptors of them.

    Parameters
    ----------
    patch : the side of the smallest patch in pixels.
    step : the distance of neighbouring patches in pixels, at every scale.
    scales : the number of scales; patches grow by sqrt 2 from one to the next.
    max_pixels : larger images are shrunk to this many pixels.
    min_side : images whose smaller side is shorter are enlarged.
    """

    patch: int = option(24, minimum=8, maximum=1024, help="Side of the smallest patch, in pixels.")
    step: int = option(6, minimum=1, maximum=4096, help="Stride between patches, in pixels.")
    scales: int = option(5, minimum=1, maximum=16, help="Number of scales.")
    max_pixels: int = option(
        100_000,
        minimum=4096,
        maximum=4_000_000,
        help="Maximum number of pixels; larger images are shrunk.",
    )
    min_side: int = option(
        128,
        minimum=1,
        maximum=4096,
        help="Minimum length of the smaller side, in pixels; smaller images are enlarged.",
    )


@dataclass(frozen=True, eq=False)
class SiftOptions:
    """How the histograms of dense SIFT are normalised.

    Parameters
    ----------
    contrast : a patch whose histogram (the mean gradient of the patch, grey values in [0, 1], by
        bin and orientation) has a smaller L2 norm becomes the zero vector.
    root : whether to take the square root of the L1-normalised descriptor (RootSIFT), so that
        distances weight small and large bins alike.
    """

    contrast: float = option(
        1e-5, minimum=0, maximum=1, help="sift: gradient below which a patch is considered empty."
    )
    root: bool = option(False, help="sift: take square roots of the descriptors (RootSIFT).")


class DescriptorSpec(ABC):
    """An entry of the registry: what is known of a descriptor before it is made.

    Attributes
    ----------
    name : the value of ``--descriptor``.
    description : one line for the help and the documentation.
    options : the options of the command that it takes.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = ("step",)

    @abstractmethod
    def make(self, **settings: Any) -> Descriptor:
        """Return the descriptor; `settings` are fields of it, such as `GridOptions.step`."""


class SiftSpec(DescriptorSpec):
    """Dense SIFT of the grey image."""

    name = "sift"
    description = "orientations of gradients in 4 x 4 cells of the grey image"
    options = ("step", "contrast", "root")

    def make(self, **settings: Any) -> Descriptor:
        """Return dense SIFT."""
        from myriad.descriptors.sift import DenseSIFT

        return DenseSIFT(**{"keep_empty": False} | settings)


class ColourSpec(DescriptorSpec):
    """Local colour statistics."""

    name = "colour"
    description = "mean and standard deviation of red, green and blue in 4 x 4 cells"

    def make(self, **settings: Any) -> Descriptor:
        """Return local colour statistics."""
        from myriad.descriptors.colour import LocalColour

        return LocalColour(**settings)


class SiftColourSpec(DescriptorSpec):
    """Dense SIFT and local colour statistics, concatenated."""

    name = "sift+colour"
    description = "both, concatenated; one PCA and one vocabulary for the two"
    options = SiftSpec.options

    def make(self, **settings: Any) -> Descriptor:
        """Return SIFT and colour statistics of the same patches."""
        from myriad.descriptors.sift_colour import SiftColour

        return SiftColour(**settings)


DESCRIPTORS: dict[str, DescriptorSpec] = {
    spec.name: spec for spec in (SiftSpec(), ColourSpec(), SiftColourSpec())
}
"""All descriptors by name."""


def find_descriptor(name: str, *, flag: str = "--descriptor") -> DescriptorSpec:
    """Return the entry of a descriptor; raises `InputError` where there is no such one.

    Parameters
    ----------
    flag : the option that named it, for the error.
    """
    if name not in DESCRIPTORS:
        known = ", ".join(DESCRIPTORS)
        raise InputError(
            f"{flag} must be one of {known}, not {name!r}." + did_you_mean(name, DESCRIPTORS)
        )
    return DESCRIPTORS[name]
