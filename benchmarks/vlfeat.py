"""Dense SIFT and Fisher vectors of VLFeat 0.9.21, called through ctypes.

The library is `libvlfeat1` of Debian and Ubuntu. Patches, steps
and regions are those of our signature, so that both describe about as many patches; widths of bins
are whole numbers there.
"""

from __future__ import annotations

import ctypes as c
from ctypes.util import find_library
from math import sqrt

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import DenseSIFT
from myriad.signatures import FisherSignature
from myriad.signatures.learning import append_coordinates
from myriad.signatures.pyramid import pyramid_of

FLOAT, IMPROVED = 1, 3
"""VL_TYPE_FLOAT, and VL_FISHER_FLAG_IMPROVED: signed square root and norm 1."""
BINS = 4


class Filter(c.Structure):
    """VlDsiftFilter, as far as it is used."""

    _fields_ = (
        ("size", c.c_int * 2),
        ("steps", c.c_int * 2),
        ("bounds", c.c_int * 4),
        ("geometry", c.c_int * 5),
        ("flat_window", c.c_int),
        ("window_size", c.c_double),
        ("n_frames", c.c_int),
        ("descriptor_size", c.c_int),
        ("frames", c.POINTER(c.c_double * 4)),
        ("descriptors", c.POINTER(c.c_float)),
    )


class VLFeat:
    """The pipeline of a signature by functions of VLFeat."""

    def __init__(self, signature: FisherSignature, *, flat_window: bool) -> None:
        name = find_library("vl")
        if name is None:
            raise SystemExit("VLFeat is not installed: apt-get install libvlfeat1")
        self.vl = c.CDLL(name)
        self.vl.vl_dsift_new_basic.restype = c.POINTER(Filter)
        self.vl.vl_fisher_encode.restype = c.c_size_t
        self.signature, self.flat_window = signature, flat_window
        self.descriptor: DenseSIFT = signature.descriptor  # type: ignore[assignment]

    def describe_patches(self, image: Bytes) -> tuple[Float, Float]:
        """Return dense SIFT descriptors and their positions as fractions of width and height."""
        found, positions = [], []
        height, width = image.shape
        pixels = np.ascontiguousarray(image, np.float32)
        for scale in range(self.descriptor.scales):
            size = int(self.descriptor.patch / BINS * sqrt(2) ** scale)
            pointer = self.vl.vl_dsift_new_basic(width, height, self.descriptor.step, size)
            dsift = pointer.contents
            dsift.flat_window = int(self.flat_window)
            self.vl.vl_dsift_process(pointer, pixels.ctypes.data_as(c.POINTER(c.c_float)))
            n, shape = dsift.n_frames, (dsift.n_frames, dsift.descriptor_size)
            found.append(np.ctypeslib.as_array(dsift.descriptors, shape).copy())
            frames = np.ctypeslib.as_array(c.cast(dsift.frames, c.POINTER(c.c_double)), (n, 4))
            positions.append((frames[:, :2] / (width, height)).astype(np.float32))
            self.vl.vl_dsift_delete(pointer)
        return np.concatenate(found), np.concatenate(positions)

    def encode(self, values: Float, positions: Float) -> Float:
        """Return the Fisher vectors of all regions, normalised and joined."""
        mixture, x, y = self.signature.mixture, positions[:, 0], positions[:, 1]
        n_components, dim = mixture.means.shape
        vectors = []
        for left, top, right, bottom in pyramid_of(self.signature.regions).regions:
            here = (x >= left) & (x < right) & (y >= top) & (y < bottom)
            part = np.ascontiguousarray(values[here])
            vector = np.empty(2 * n_components * dim, np.float32)
            pointers = [
                array.ctypes.data_as(c.c_void_p)
                for array in (vector, mixture.means, mixture.variances, mixture.weights, part)
            ]
            self.vl.vl_fisher_encode(
                pointers[0],
                c.c_int(FLOAT),
                pointers[1],
                c.c_size_t(dim),
                c.c_size_t(n_components),
                pointers[2],
                pointers[3],
                pointers[4],
                c.c_size_t(len(part)),
                c.c_int(IMPROVED),
            )
            vectors.append(vector)
        return np.concatenate(vectors)

    def describe(self, image: Bytes) -> Float:
        """Return the signature of an image."""
        descriptors, positions = self.describe_patches(image)
        values = self.signature.pca.project(descriptors)
        if self.signature.coordinates:
            values = append_coordinates(values, positions)
        return self.encode(values, positions)
