"""The bag of visual words: how often each word of a vocabulary occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor
from myriad.errors import InputError
from myriad.signatures.normalisation import check_power, normalise_regions
from myriad.signatures.pooled import PooledSignature
from myriad.signatures.pyramid import Pyramid, pyramid_of
from myriad.vocabularies import PCA, Words


@dataclass(frozen=True, eq=False)
class BagOfWordsSignature(PooledSignature, kind="bov"):
    """Histograms of visual words over a spatial pyramid [GP, LS].

    Attributes
    ----------
    descriptor : what is computed on the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``words.dim``.
    words : the vocabulary.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    power : the exponent that counts go through; 0.5 followed by L2 is the same as L1 followed by
        the square root (Hellinger's kernel).
    """

    descriptor: Descriptor
    pca: PCA
    words: Words
    regions: int = 4
    power: float = 0.5

    def __post_init__(self) -> None:
        fields = ((self.descriptor, Descriptor), (self.pca, PCA), (self.words, Words))
        if not all(isinstance(value, kind) for value, kind in fields):
            raise InputError("A bag of words needs a descriptor, a PCA and a vocabulary.")
        if self.pca.n_features != self.descriptor.dim or self.pca.dim != self.words.dim:
            raise InputError("The PCA of a bag of words does not fit its descriptor or words.")
        pyramid_of(self.regions)
        check_power(self.power)

    @property
    def dim(self) -> int:
        """The length of a signature: regions x words."""
        return self.regions * self.words.n_words

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,)."""
        local = self.descriptor.describe(image)
        projected = self.pca.project(local.values)
        counts = count_words(projected, local.positions, self.words, pyramid_of(self.regions))
        return normalise_regions(counts, power=self.power)


def count_words(values: Float, positions: Float, words: Words, pyramid: Pyramid) -> Float:
    """Return how often each word occurs in each region: float32 of shape (n_regions, n_words)."""
    cells = pyramid.locate(positions)
    flat = cells * np.int32(words.n_words) + words.assign(values)
    counts = np.bincount(flat, minlength=pyramid.n_cells * words.n_words)
    by_cell = counts.reshape(pyramid.n_cells, -1).astype(np.float32)
    return pyramid.sum_cells(by_cell)
