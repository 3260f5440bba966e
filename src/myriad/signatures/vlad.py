"""VLAD: for each visual word, the sum of the residuals of its descriptors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor, ImageCollection
from myriad.serialisation import check_type
from myriad.signatures.learning import VocabularyLearning
from myriad.signatures.pyramid import Pyramid, normalise_regions, pyramid_of
from myriad.signatures.signature import PooledSignature
from myriad.vocabularies import PCA, Words, learn_words
from myriad.vocabularies.kmeans import add_residuals


@dataclass(frozen=True, eq=False)
class VladSignature(PooledSignature, kind="vlad"):
    """Vectors of locally aggregated descriptors over a spatial pyramid.

    Attributes
    ----------
    descriptor : the local descriptor of the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``words.dim``.
    words : the vocabulary, a few hundred words at most.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    power : the exponent of the signed power that each value goes through.
    within : whether the sum of each word is first divided by its norm (intra-normalisation), so
        that a texture which fills the image does not dominate.
    """

    descriptor: Descriptor
    pca: PCA
    words: Words
    regions: int = 4
    power: float = 0.5
    within: bool = False

    def __post_init__(self) -> None:
        check_type(self.words, Words, "The vocabulary of VLAD")
        check_type(self.within, bool, "within of VLAD")
        self._check_pooling(self.words)

    @property
    def dim(self) -> int:
        """The length of a signature: regions x words x dimensions."""
        return self.regions * self.words.centres.size

    @property
    def n_words(self) -> int:
        """The number of words."""
        return self.words.n_words

    def columns_of(self, word: int) -> NDArray[np.int64]:
        """Return the features that belong to one word, in all regions."""
        size = self.words.dim
        return self._repeat(word * size + np.arange(size))

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,)."""
        local = self.descriptor.describe(image)
        projected = self.project(local)
        sums = sum_residuals(projected, local.positions, self.words, pyramid_of(self.regions))
        if self.within:
            sums /= word_norms(sums)
        return normalise_regions(sums.reshape(self.regions, -1), power=self.power)


def sum_residuals(values: Float, positions: Float, words: Words, pyramid: Pyramid) -> Float:
    """Return the sums of residuals: float32 of shape (n_regions, n_words, dim)."""
    sums = np.zeros((pyramid.n_cells, *words.centres.shape), np.float32)
    cells = pyramid.locate(positions)
    add_residuals(values, words.assign(values), cells, words.centres, sums)
    return pyramid.sum_cells(sums)


def word_norms(sums: Float) -> Float:
    """Return what the sum of each word is divided by to have norm 1: (n_regions, n_words, 1)."""
    norms = np.linalg.norm(sums, axis=2, keepdims=True)
    return np.where(norms > 0, norms, np.float32(1))


def learn_vlad(
    images: Iterable[Bytes] | ImageCollection,
    *,
    n_words: int = 256,
    within: bool = False,
    **options: Any,
) -> VladSignature:
    """Learn the PCA and the words of a VLAD signature; parameters as in `learn_fisher`."""
    learning = VocabularyLearning(**options)
    pca, values = learning.project_sample(images, n_words)
    words = learn_words(values, n_words, learning.context)
    return VladSignature(learning.descriptor, pca, words, learning.regions, within=within)
