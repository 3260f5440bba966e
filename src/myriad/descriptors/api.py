"""The names of `myriad.descriptors` whose modules need OpenCV and Numba, imported together."""

from myriad.descriptors.colour import LocalColour
from myriad.descriptors.descriptor import Descriptor, LocalDescriptors
from myriad.descriptors.grid import GridDescriptor
from myriad.descriptors.sampling import ImageCollection
from myriad.descriptors.sift import DenseSIFT
from myriad.descriptors.sift_colour import SiftColour

__all__ = [
    "DenseSIFT",
    "Descriptor",
    "GridDescriptor",
    "ImageCollection",
    "LocalColour",
    "LocalDescriptors",
    "SiftColour",
]
