"""Contributions of the parts of an image to the score of a class.

The score of a linear model is ``w x + b``. A signature is ``x_j = a_j v_j``, where ``v`` is the
pooled vector before power and normalisation, and the slopes ``a_j = x_j / v_j`` stand for both of
these, fixed at the image. With the posteriors fixed as well, ``v`` is a sum over descriptors,
``v = sum_i v_i``, and so is the score::

    w x = sum_i e_i    with    e_i = sum_j w_j a_j v_ij

This sum is exact. With the exponent p of the power, ``p e_i`` is the derivative of the score with
respect to the weight of descriptor i while the norms stay the same: to first order, it is what the
descriptor adds.

Where ``v_j`` is nearly zero, positive and negative parts cancel, and the slope of the power is
infinite: parts would be as large as they are meaningless. Therefore slopes are bounded, as if
``|v_j|`` were at least `FLOOR` times the root mean square of its region; what the bounded parts do
not explain is divided evenly among the descriptors of the region, so that the sum stays exact.

For a bag of words, each feature belongs to one word, and what its features add to the score is
divided among the descriptors of the word; this is exact for every map that treats words one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors.grid import GridDescriptor
from myriad.errors import InputError
from myriad.signatures.bov import (
    BagOfWordsSignature,
    count_words,
    soft_assignments,
    soft_count_words,
)
from myriad.signatures.fisher import FisherSignature, fisher_vectors
from myriad.signatures.pyramid import Pyramid, normalise_regions, pyramid_of
from myriad.signatures.signature import PooledSignature, Signature
from myriad.signatures.vlad import VladSignature, sum_residuals, word_norms

Sums = NDArray[np.float64]

FLOOR = 0.03
"""Least magnitude of a pooled value in the slopes, relative to the root mean square."""


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of the parts of an image to some scores.

    Attributes
    ----------
    boxes : float64 array of shape (n_parts, 4): left, top, right, bottom of each part as fractions
        of the width and the height of the image; a box may reach beyond the image.
    values : float64 array of shape (n_parts, n_scores); a column sums to the score without bias.
    """

    boxes: Sums
    values: Sums


@singledispatch
def contribute(signature: Signature, image: Bytes, weights: Float) -> Contributions:
    """Return what each part of an image contributes to the scores ``weights @ signature``.

    Parameters
    ----------
    image : uint8, grey or in colour as the signature takes it.
    weights : float32 array of shape (n_scores, signature.dim).

    Raises
    ------
    InputError : if the signature is not a sum over parts of the image.
    """
    raise InputError(f"Signatures of the kind {signature.kind!r} cannot be explained.")


@contribute.register
def _(signature: FisherSignature, image: Bytes, weights: Float) -> Contributions:
    pooled = _Pooled.of(signature, image)
    mixture, pyramid = signature.mixture, pooled.pyramid
    raw = fisher_vectors(
        pooled.values, pooled.positions, mixture, pyramid, weights=signature.weights
    )
    slopes, rest = find_slopes(raw, signature.power, weights)
    # The value of a part is linear in its posteriors, in q z and in q (z² - 1), z = (x - m) / s;
    # written in powers of x, it is a product of (1, x, x²) and an array for each Gaussian.
    sizes = np.maximum(pooled.region_sizes, 1)[:, None]
    roots = np.sqrt(mixture.weights.astype(np.float64))
    shape = (len(weights), len(raw), -1, *mixture.means.shape)
    front = mixture.n_components if signature.weights else 0
    moments = slopes[..., front:].reshape(shape) / (sizes * roots)[None, :, None, :, None]
    deviations = np.sqrt(mixture.variances.astype(np.float64))
    first, second = moments[:, :, 0] / deviations, moments[:, :, 1] / (np.sqrt(2) * deviations**2)
    means = mixture.means.astype(np.float64)
    constants = (second * (means**2 - deviations**2) - first * means).sum(axis=-1)
    linear = first - 2 * second * means
    shared = np.zeros((len(weights), len(raw)))
    if signature.weights:
        own = slopes[..., :front] / (sizes * roots)
        constants += own
        shared -= own @ mixture.weights.astype(np.float64)
    parts = np.zeros((len(pooled.values), len(weights)))
    for rows, regions in pooled.groups():
        x = pooled.values[rows].astype(np.float64)
        posteriors = mixture.posteriors(pooled.values[rows]).astype(np.float64)
        for t in range(len(weights)):
            lines = x @ linear[t, regions].sum(axis=0).T + x**2 @ second[t, regions].sum(axis=0).T
            lines += constants[t, regions].sum(axis=0)
            parts[rows, t] = np.einsum("nk,nk->n", posteriors, lines)
            parts[rows, t] += shared[t, regions].sum()
    return pooled.finish(parts, rest)


@contribute.register
def _(signature: VladSignature, image: Bytes, weights: Float) -> Contributions:
    pooled = _Pooled.of(signature, image)
    words = signature.words
    raw = sum_residuals(pooled.values, pooled.positions, words, pooled.pyramid)
    # The norms of words, if they are divided by these, are fixed as those of regions are.
    norms = word_norms(raw) if signature.within else np.ones((1, 1, 1), np.float32)
    slopes, rest = find_slopes((raw / norms).reshape(len(raw), -1), signature.power, weights)
    slopes = slopes.reshape(len(weights), *raw.shape) / norms
    nearest = words.assign(pooled.values)
    residuals = pooled.values.astype(np.float64) - words.centres[nearest]
    parts = np.zeros((len(residuals), len(weights)))
    for rows, regions in pooled.groups():
        for t in range(len(weights)):
            slope = slopes[t, regions].sum(axis=0)
            parts[rows, t] = np.einsum("nd,nd->n", residuals[rows], slope[nearest[rows]])
    return pooled.finish(parts, rest)


@contribute.register
def _(signature: BagOfWordsSignature, image: Bytes, weights: Float) -> Contributions:
    if not signature.map.by_region:
        raise InputError(
            "A bag of words with kernel PCA mixes its visual words: it cannot be explained."
        )
    pooled = _Pooled.of(signature, image)
    words, width = signature.words, signature.width
    if width:
        counts = soft_count_words(pooled.values, pooled.positions, words, pooled.pyramid, width)
    else:
        counts = count_words(pooled.values, pooled.positions, words, pooled.pyramid)
    histograms = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.float32(1e-6))
    mapped = signature.map.embed(histograms).reshape(len(counts), -1)
    row = normalise_regions(mapped, power=1.0).reshape(len(counts), -1, words.n_words)
    by_feature = weights.reshape(len(weights), *row.shape).astype(np.float64) * row
    filled = np.where(counts > 0, counts, 1.0).astype(np.float64)
    by_word = by_feature.sum(axis=2) / filled  # what one descriptor of a word adds
    parts = np.zeros((len(pooled.values), len(weights)))
    nearest = None if width else words.assign(pooled.values)
    for rows, regions in pooled.groups():
        added = by_word[:, regions].sum(axis=1)
        if nearest is not None:
            parts[rows] = added[:, nearest[rows]].T
        else:
            parts[rows] = soft_assignments(pooled.values[rows], words, width) @ added.T
    return pooled.finish(parts, np.zeros((len(weights), len(counts))))


def find_slopes(raw: Float, power: float, weights: Float) -> tuple[Sums, Sums]:
    """Return the slopes of scores in pooled vectors, and what they leave unexplained.

    Parameters
    ----------
    raw : float32 array of shape (n_regions, size), the vectors before power and normalisation.
    weights : float32 array of shape (n_scores, n_regions * size).

    Returns
    -------
    slopes : float64 array of shape (n_scores, n_regions, size), ``w_j a_j`` with bounded ``a_j``.
    rest : float64 array of shape (n_scores, n_regions): with it, the sums of parts are the scores.
    """
    row = normalise_regions(raw.copy(), power=power).reshape(raw.shape).astype(np.float64)
    values = raw.astype(np.float64)
    if power == 1.0:
        bounds = np.abs(values)  # without a power no slope is steep
    else:
        floors = FLOOR * np.sqrt(np.mean(values**2, axis=1, keepdims=True))
        bounds = np.maximum(np.abs(values), floors)
    factors = np.abs(row) / np.where(bounds > 0, bounds, 1.0)
    by_region = weights.reshape(len(weights), *raw.shape).astype(np.float64)
    slopes = by_region * factors
    rest = (by_region * row).sum(axis=2) - (slopes * values).sum(axis=2)
    return slopes, rest


@dataclass(frozen=True, eq=False)
class _Pooled:
    """The projected descriptors of an image, and the regions that each of them belongs to."""

    values: Float
    positions: Float
    boxes: Sums
    pyramid: Pyramid
    cells: NDArray[np.int32]

    @classmethod
    def of(cls, signature: PooledSignature, image: Bytes) -> _Pooled:
        descriptor = signature.descriptor
        local = descriptor.describe(image)
        if not isinstance(descriptor, GridDescriptor):
            raise InputError("Only descriptors on a grid of patches can be explained.")
        boxes = np.array(descriptor.find_patches(image), np.float64).reshape(-1, 4)
        boxes = boxes if local.patches is None else boxes[local.patches]
        pyramid = pyramid_of(signature.regions)
        cells = pyramid.locate(local.positions)
        return cls(signature.project(local), local.positions, boxes, pyramid, cells)

    @property
    def region_sizes(self) -> Sums:
        """The number of descriptors in each region."""
        counts = np.bincount(self.cells, minlength=self.pyramid.n_cells)
        return np.asarray(self.pyramid.membership @ counts, np.float64)

    def groups(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the descriptors of each cell, with the regions that contain the cell."""
        found = []
        for cell in range(self.pyramid.n_cells):
            rows = np.flatnonzero(self.cells == cell)
            if len(rows):
                found.append((rows, np.flatnonzero(self.pyramid.membership[:, cell])))
        return found

    def finish(self, parts: Sums, rest: Sums) -> Contributions:
        """Return the parts, with the rest of each region divided among its descriptors."""
        sizes = np.maximum(self.region_sizes, 1)
        for rows, regions in self.groups():
            parts[rows] += (rest[:, regions] / sizes[regions]).sum(axis=1)
        return Contributions(self.boxes, parts)
