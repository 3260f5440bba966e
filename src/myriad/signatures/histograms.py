"""Histograms of colours and textons over a pyramid, then kernel PCA: the features of [HM, 8.2]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors import ImageCollection
from myriad.descriptors.descriptor import check_image
from myriad.descriptors.filter_bank import FilterBank
from myriad.descriptors.sampling import map_images, sample_descriptors
from myriad.errors import InputError
from myriad.parallel import thread_executor
from myriad.serialisation import check_type
from myriad.signatures.bov import KERNEL_PCA_DIM
from myriad.signatures.learning import VocabularyLearning
from myriad.signatures.pyramid import Pyramid, pyramid_of
from myriad.signatures.signature import Signature
from myriad.vocabularies import IntersectionPCA, Words, learn_intersection_pca, learn_words

LEVELS = 4
"""Levels of red, green and blue that colours are counted by."""
COLOURS = LEVELS**3
SAMPLE = 100_000
"""Most filter responses that textons are learned from."""


@dataclass(frozen=True, eq=False)
class HistogramSignature(Signature, kind="histograms"):
    """Colours and textons of an image, counted at several scales in the regions of a pyramid.

    At each scale and for each region there are two histograms of sum 1: of the colours of its
    pixels, 64 of them, and of textons, the words nearest to filter responses. The concatenation is
    projected on the kernel principal components of the intersection kernel, and normalised.

    Attributes
    ----------
    bank : the filters, and the scales.
    words : the textons.
    regions : 1, 4 (and three stripes) or 8 (and 2 x 2 quarters).
    pca : the projection.
    """

    bank: FilterBank
    words: Words
    regions: int
    pca: IntersectionPCA

    def __post_init__(self) -> None:
        check_type(self.bank, FilterBank, "The filters of a signature of histograms")
        check_type(self.words, Words, "The textons of a signature of histograms")
        check_type(self.pca, IntersectionPCA, "The PCA of a signature of histograms")
        pyramid_of(self.regions)
        if self.words.dim != self.bank.dim:
            raise InputError("The textons of a signature of histograms do not fit its filters.")
        if self.pca.n_features != self.counter.n_features:
            raise InputError("The kernel PCA of a signature of histograms does not fit them.")

    @property
    def counter(self) -> HistogramCounter:
        """The object that counts colours and textons."""
        return HistogramCounter(self.bank, self.words, self.regions)

    @property
    def dim(self) -> int:
        """The number of kernel principal components."""
        return self.pca.dim

    @property
    def colour(self) -> bool:
        """Images must be in colour."""
        return True

    @property
    def pixels(self) -> int | None:
        """The most pixels that are used."""
        return self.bank.pixels

    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image, float32 of shape (dim,), of norm 1."""
        row: Float = self.pca.project(self.counter.count(image)[None, :])[0]
        norm = float(np.linalg.norm(row))
        return row / np.float32(norm) if norm > 0 else row


@dataclass(frozen=True)
class HistogramCounter:
    """Counts the colours and the textons of images; see `HistogramSignature`."""

    bank: FilterBank
    words: Words
    regions: int

    @property
    def n_features(self) -> int:
        """The length of all histograms of an image together."""
        return self.bank.scales * self.regions * (COLOURS + self.words.n_words)

    def __call__(self, number: int, image: Bytes) -> Float:
        """Return the histograms of an image of a stream."""
        return self.count(image)

    def count(self, image: Bytes) -> Float:
        """Return all histograms of a colour image, float32 of shape (n_features,), of sum 1.

        Scales that a small image does not have are empty, and regions without a point as well.
        """
        check_image(image, colour=True)
        pyramid, found = pyramid_of(self.regions), []
        for scaled in self.bank.shrink(image):
            points = _locate_pixels(*scaled.shape[:2])
            colours = quantise_colours(scaled).reshape(-1)
            local = self.bank.respond(make_grey(scaled))
            textons = self.words.assign(local.values)
            found.append(count_regions(colours, COLOURS, points, pyramid))
            found.append(count_regions(textons, self.words.n_words, local.positions, pyramid))
        flat = np.concatenate([histogram.reshape(-1) for histogram in found])
        row = np.zeros(self.n_features, np.float32)
        row[: len(flat)] = flat / np.float32(2 * self.bank.scales * self.regions)
        return row


def quantise_colours(image: Bytes) -> NDArray[np.int64]:
    """Return the number of the colour of each pixel: its levels of red, green and blue."""
    levels = image.astype(np.int64) * LEVELS // 256
    red, green, blue = np.moveaxis(levels, -1, 0)
    numbers: NDArray[np.int64] = (red * LEVELS + green) * LEVELS + blue
    return numbers


def count_regions(numbers: NDArray[Any], size: int, positions: Float, pyramid: Pyramid) -> Float:
    """Return a histogram of numbers below `size` for each region, (n_regions, size), of sum 1."""
    flat = pyramid.locate(positions).astype(np.int64) * size + numbers
    counts = np.bincount(flat, minlength=pyramid.n_cells * size).reshape(pyramid.n_cells, size)
    sums = pyramid.sum_cells(counts.astype(np.float32))
    return (sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)).astype(np.float32)


def _locate_pixels(height: int, width: int) -> Float:
    positions = np.empty((height, width, 2), np.float32)
    positions[:, :, 0] = (np.arange(width) + 0.5) / width
    positions[:, :, 1] = ((np.arange(height) + 0.5) / height)[:, None]
    return positions.reshape(-1, 2)


def learn_histograms(
    images: Iterable[Bytes] | ImageCollection,
    *,
    n_words: int = 256,
    step: int = 6,
    **options: Any,
) -> HistogramSignature:
    """Learn the textons and the kernel PCA of a signature of histograms.

    Parameters
    ----------
    images : uint8 images in colour; they are read twice, so they may not be an iterator.
    n_words : textons.
    step : pixels from one filter response to the next.
    options : `regions`, `seed`, `threads`, `workers` and `progress`, as those of `learn_fisher`;
        local descriptors and their PCA are not used.
    """
    if isinstance(images, Iterator):
        raise InputError("A kernel PCA reads the images twice: give a list, not an iterator.")
    learning, bank = VocabularyLearning(**options), FilterBank(step=step)
    context, regions = learning.context, learning.regions
    grey = images if isinstance(images, ImageCollection) else [make_grey(image) for image in images]
    values = sample_descriptors(
        grey,
        bank,
        most=min(SAMPLE, learning.sample),
        context=context,
    )
    if len(values) < max(n_words, 2):
        raise InputError(
            f"The images gave {len(values)} filter responses, too few for {n_words} textons: give "
            "more images or a smaller vocabulary (--components)."
        )
    words = learn_words(values, n_words, context)
    counter, total = HistogramCounter(bank, words, regions), None
    if isinstance(images, Sized):
        total = len(images)
    rows = []
    with context.progress.step(
        "Computing colour and texton histograms", total, "images"
    ) as advance:
        for row in map_images(counter, images, colour=True, threads=context.threads):
            rows.append(row)
            advance(1)
    with thread_executor(1):
        pca = learn_intersection_pca(np.stack(rows), KERNEL_PCA_DIM, seed=context.seed)
    return HistogramSignature(bank, words, regions, pca)


def make_grey(image: Bytes) -> Bytes:
    """Return a colour image in grey."""
    check_image(image, colour=True)
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
