"""Image to local descriptors."""

from myriad.descriptors.descriptor import Descriptor, LocalDescriptors
from myriad.descriptors.sift import DenseSIFT

__all__ = ["DenseSIFT", "Descriptor", "LocalDescriptors"]
