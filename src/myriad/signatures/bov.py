"""The bag of visual words: how often each word of a vocabulary occurs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor
from myriad.errors import InputError
from myriad.signatures.maps import AdditiveMap, HistogramMap
from myriad.signatures.normalisation import normalise_regions
from myriad.signatures.pooled import PooledSignature
from myriad.signatures.pyramid import Pyramid, pyramid_of
from myriad.vocabularies import PCA, Words
from myriad.vocabularies.mixture import split_cells
from myriad.vocabularies.posteriors import soften

_HELLINGER = AdditiveMap()


@dataclass(frozen=True, eq=False)
class BagOfWordsSignature(PooledSignature, kind="bov"):
    """Histograms of visual words over a spatial pyramid [GP, LS].

    Attributes
    ----------
    descriptor : what is computed on the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``words.dim``.
    words : the vocabulary.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    map : what histograms of sum 1 go through; Hellinger's square root by default.
    width : the deviation of the Gaussian by which a descriptor is shared out over the words near
        it; 0, the default, counts it whole for the nearest.
    """

    descriptor: Descriptor
    pca: PCA
    words: Words
    regions: int = 4
    map: HistogramMap = _HELLINGER
    width: float = 0.0

    def __post_init__(self) -> None:
        fields = ((self.descriptor, Descriptor), (self.pca, PCA), (self.words, Words))
        if not all(isinstance(value, kind) for value, kind in fields):
            raise InputError("A bag of words needs a descriptor, a PCA and a vocabulary.")
        if self.pca.n_features != self.descriptor.dim or self.pca.dim != self.words.dim:
            raise InputError("The PCA of a bag of words does not fit its descriptor or words.")
        pyramid_of(self.regions)
        if not isinstance(self.map, HistogramMap):
            raise InputError(f"A bag of words needs a map of histograms, not {self.map!r}.")
        self.map.length(self.regions, self.words.n_words)
        number = isinstance(self.width, int | float) and not isinstance(self.width, bool)
        if not number or not isfinite(self.width) or self.width < 0:
            raise InputError(f"The width of a bag of words must be 0 or more, not {self.width!r}.")

    @property
    def dim(self) -> int:
        """The length of a signature: regions x words, times what the map makes of a count."""
        return self.map.length(self.regions, self.words.n_words)

    @property
    def power(self) -> float:  # type: ignore[override]
        """The exponent that counts went through."""
        return 0.5 if isinstance(self.map, AdditiveMap) and self.map.kernel == "hellinger" else 1.0

    @property
    def period(self) -> int:
        """The features of one region; all if the map mixes regions."""
        return self.dim // self.regions if self.map.by_region else self.dim

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,)."""
        mapped = self.map.embed(self.count(image))
        if not self.map.by_region:
            return mapped
        return normalise_regions(mapped.reshape(self.regions, -1), power=1.0)

    def count(self, image: Bytes) -> Float:
        """Return the histogram of each region, float32 (n_regions, n_words), of sum 1 or empty."""
        local = self.descriptor.describe(image)
        projected = self.pca.project(local.values)
        pyramid = pyramid_of(self.regions)
        if self.width:
            counts = share_words(projected, local.positions, self.words, pyramid, self.width)
        else:
            counts = count_words(projected, local.positions, self.words, pyramid)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), np.float32(1e-6))


def count_words(values: Float, positions: Float, words: Words, pyramid: Pyramid) -> Float:
    """Return how often each word occurs in each region: float32 of shape (n_regions, n_words)."""
    cells = pyramid.locate(positions)
    flat = cells * np.int32(words.n_words) + words.assign(values)
    counts = np.bincount(flat, minlength=pyramid.n_cells * words.n_words)
    by_cell = counts.reshape(pyramid.n_cells, -1).astype(np.float32)
    return pyramid.sum_cells(by_cell)


def share_words(
    values: Float, positions: Float, words: Words, pyramid: Pyramid, width: float
) -> Float:
    """Return soft counts: float32 of shape (n_regions, n_words).

    A descriptor adds to every word its share of ``exp(-|x - word|² / (2 width²))``; the shares of a
    descriptor sum to 1. They are its posteriors under Gaussians of this width around the words.
    """
    scale = np.float32(1 / (width * width))
    loadings = np.ascontiguousarray(words.centres.T) * scale
    halves = np.einsum("kd,kd->k", words.centres, words.centres) * (scale / 2)
    counts = np.zeros((pyramid.n_cells, words.n_words))
    for cell, rows in split_cells(values, pyramid.locate(positions), pyramid.n_cells):
        logits = rows @ loadings
        logits -= halves
        soften(logits, logits.max(axis=1))
        counts[cell] += logits.sum(axis=0)
    return pyramid.sum_cells(counts).astype(np.float32)
