"""Image to local descriptors."""

from myriad.descriptors.colour import LocalColour
from myriad.descriptors.descriptor import Descriptor, LocalDescriptors
from myriad.descriptors.grid import GridDescriptor
from myriad.descriptors.sampling import SpreadImages
from myriad.descriptors.sift import DenseSIFT
from myriad.descriptors.sift_colour import SiftColour

DESCRIPTORS: dict[str, type[GridDescriptor]] = {
    "sift": DenseSIFT,
    "colour": LocalColour,
    "sift+colour": SiftColour,
}
"""By the name that options know them under."""

__all__ = [
    "DESCRIPTORS",
    "DenseSIFT",
    "Descriptor",
    "GridDescriptor",
    "LocalColour",
    "LocalDescriptors",
    "SiftColour",
    "SpreadImages",
]
