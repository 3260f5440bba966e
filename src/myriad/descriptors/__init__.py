"""Image to local descriptors."""

from myriad.descriptors.descriptor import Descriptor, LocalDescriptors
from myriad.descriptors.sampling import SpreadImages
from myriad.descriptors.sift import DenseSIFT

__all__ = ["DenseSIFT", "Descriptor", "LocalDescriptors", "SpreadImages"]
