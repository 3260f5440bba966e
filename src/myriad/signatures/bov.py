"""The bag of visual words: counts of each word of a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor, ImageCollection
from myriad.descriptors.sampling import map_images
from myriad.errors import InputError, did_you_mean
from myriad.parallel import LearningContext, thread_executor
from myriad.serialisation import check_type, is_number
from myriad.signatures.learning import VocabularyLearning
from myriad.signatures.maps import (
    AdditiveMap,
    HistogramMap,
    IntersectionMap,
    choose_map,
    join_regions,
)
from myriad.signatures.own_options import MAPS
from myriad.signatures.pyramid import Pyramid, normalise_regions, pyramid_of
from myriad.signatures.signature import PooledSignature
from myriad.vocabularies import PCA, Words, learn_intersection_pca, learn_words
from myriad.vocabularies.mixture import logits_to_posteriors, split_cells

_HELLINGER = AdditiveMap()
KERNEL_PCA = "intersection-pca"
KERNEL_PCA_DIM = 1024
"""Components of the kernel PCA of histograms, at most [HM 8.2]."""


@dataclass(frozen=True, eq=False)
class BagOfWordsSignature(PooledSignature, kind="bov"):
    """Histograms of visual words over a spatial pyramid [GP, LS].

    Attributes
    ----------
    descriptor : the local descriptor of the image.
    pca : the projection of descriptors, ``descriptor.dim`` to ``words.dim``.
    words : the vocabulary.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    map : the map of histograms of sum 1; Hellinger's square root by default.
    width : the standard deviation of the Gaussian by which a descriptor is divided among the words
        near it; 0, the default, counts it for the nearest alone.
    """

    descriptor: Descriptor
    pca: PCA
    words: Words
    regions: int = 4
    map: HistogramMap = _HELLINGER
    width: float = 0.0

    def __post_init__(self) -> None:
        check_type(self.words, Words, "The vocabulary of a bag of words")
        check_type(self.map, HistogramMap, "The map of a bag of words")
        self._check_pooling(self.words)
        self.map.length(self.regions, self.words.n_words)
        if not is_number(self.width) or self.width < 0:
            raise InputError(f"The width of a bag of words must be 0 or more, not {self.width!r}.")

    @property
    def dim(self) -> int:
        """The length of a signature: regions x words x numbers that a count is mapped to."""
        return self.map.length(self.regions, self.words.n_words)

    @property
    def power(self) -> float:  # type: ignore[override]
        """The exponent applied to counts."""
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
        projected = self.project(local)
        pyramid = pyramid_of(self.regions)
        if self.width:
            counts = soft_count_words(projected, local.positions, self.words, pyramid, self.width)
        else:
            counts = count_words(projected, local.positions, self.words, pyramid)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), np.float32(1e-6))


def count_words(values: Float, positions: Float, words: Words, pyramid: Pyramid) -> Float:
    """Return the counts of each word in each region: float32 of shape (n_regions, n_words)."""
    cells = pyramid.locate(positions)
    flat = cells * np.int32(words.n_words) + words.assign(values)
    counts = np.bincount(flat, minlength=pyramid.n_cells * words.n_words)
    by_cell = counts.reshape(pyramid.n_cells, -1).astype(np.float32)
    return pyramid.sum_cells(by_cell)


def soft_count_words(
    values: Float, positions: Float, words: Words, pyramid: Pyramid, width: float
) -> Float:
    """Return soft counts: float32 of shape (n_regions, n_words).

    A descriptor adds to every word its fraction of ``exp(-|x - word|² / (2 width²))``; the
    fractions of a descriptor sum to 1. They are its posteriors under Gaussians of this width.
    """
    counts = np.zeros((pyramid.n_cells, words.n_words))
    for cell, rows in split_cells(values, pyramid.locate(positions), pyramid.n_cells):
        counts[cell] += soft_assignments(rows, words, width).sum(axis=0)
    return pyramid.sum_cells(counts).astype(np.float32)


def soft_assignments(values: Float, words: Words, width: float) -> Float:
    """Return the fractions in which descriptors count for words: float32 (n, n_words)."""
    scale = np.float32(1 / (width * width))
    loadings = np.ascontiguousarray(words.centres.T) * scale
    logits: Float = values @ loadings
    logits -= np.einsum("kd,kd->k", words.centres, words.centres) * (scale / 2)
    logits_to_posteriors(logits, logits.max(axis=1))
    return logits


def learn_bov(
    images: Iterable[Bytes] | ImageCollection,
    *,
    n_words: int = 1024,
    soft: bool = False,
    map: str = "hellinger",
    **options: Any,
) -> BagOfWordsSignature:
    """Learn the PCA and the words of a bag of visual words; parameters as in `learn_fisher`.

    Parameters
    ----------
    images : for a kernel PCA they are read twice, so they may not be an iterator.
    soft : whether a descriptor is divided among the words near it, by a Gaussian as wide as the
        descriptors are spread around their words.
    map : one of `MAPS`.
    """
    if map not in MAPS:
        raise InputError(
            f"The map must be one of {', '.join(MAPS)}, not {map!r}." + did_you_mean(map, MAPS)
        )
    if map == KERNEL_PCA and isinstance(images, Iterator):
        raise InputError("A kernel PCA reads the images twice: give a list, not an iterator.")
    learning = VocabularyLearning(**options)
    pca, values = learning.project_sample(images, n_words)
    words = learn_words(values, n_words, learning.context)
    signature = BagOfWordsSignature(
        learning.descriptor,
        pca,
        words,
        learning.regions,
        choose_map("hellinger" if map == KERNEL_PCA else map),
        _spread(values, words) if soft else 0.0,
    )
    return _add_kernel_pca(signature, images, learning.context) if map == KERNEL_PCA else signature


def _spread(values: Float, words: Words) -> float:
    """Return the standard deviation of descriptors around their words, along one dimension.

    It is the maximum-likelihood width of Gaussians around the words, if all are equally wide.
    """
    with thread_executor(1):
        residuals = values - words.centres[words.assign(values)]
    squares = np.einsum("nd,nd->n", residuals, residuals).sum(dtype=np.float64) / residuals.size
    return max(float(np.sqrt(squares)), 1e-6)


@dataclass(frozen=True)
class _Counting:
    """Counts the words of one image."""

    signature: BagOfWordsSignature

    def __call__(self, number: int, image: Bytes) -> Float:
        return join_regions(self.signature.count(image))


def _add_kernel_pca(
    signature: BagOfWordsSignature,
    images: Iterable[Bytes] | ImageCollection,
    context: LearningContext,
) -> BagOfWordsSignature:
    """Return the signature with kernel PCA on its histograms of the images."""
    total = len(images) if isinstance(images, Sized) else None
    histograms = []
    with context.progress.step("Computing histograms for kernel PCA", total, "images") as advance:
        counting = _Counting(signature)
        for histogram in map_images(
            counting, images, colour=signature.colour, threads=context.threads
        ):
            histograms.append(histogram)
            advance(1)
    with thread_executor(1):
        pca = learn_intersection_pca(np.stack(histograms), KERNEL_PCA_DIM, seed=context.seed)
    return replace(signature, map=IntersectionMap(pca))
