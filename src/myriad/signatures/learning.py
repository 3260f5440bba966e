"""Learning a signature's vocabulary from a stream of images.

The same images and seed give the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import DenseSIFT, Descriptor, SpreadImages
from myriad.descriptors.sampling import map_images, sample_descriptors
from myriad.errors import InputError
from myriad.parallel import Workers, thread_executor
from myriad.progress import SILENT, Progress
from myriad.signatures.bov import BagOfWordsSignature
from myriad.signatures.fisher import FisherSignature
from myriad.signatures.maps import IntersectionMap, choose_map, join_regions
from myriad.signatures.pyramid import pyramid_of
from myriad.signatures.vlad import VladSignature
from myriad.vocabularies import (
    PCA,
    Words,
    learn_intersection_pca,
    learn_mixture,
    learn_pca,
    learn_words,
)

_SIFT = DenseSIFT()

KERNEL_PCA = "intersection-pca"
KERNEL_PCA_DIM = 1024
MAPS = ("hellinger", "chi2", "intersection", KERNEL_PCA)
"""What a bag of words may end with."""


class Learning(TypedDict, total=False):
    """What every signature is learned with.

    Attributes
    ----------
    regions : of the pyramid, 1, 4 (the default) or 8.
    pca_dim : the length of a projected descriptor; the descriptor's own choice by default.
    whiten : whether projected descriptors are divided by their deviation.
    descriptor : what is computed on images, dense SIFT by default.
    sample : the most descriptors to learn from, a thousand a Gaussian being plenty; each takes up
        to 1 KB of memory.
    place : whose workers make the sums of PCA, words and mixture; None for this machine.
    """

    regions: int
    pca_dim: int | None
    whiten: bool
    descriptor: Descriptor
    sample: int
    seed: int
    threads: int | None
    workers: Workers | None
    progress: Progress


def learn_fisher(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_components: int = 256,
    weights: bool = False,
    **options: Unpack[Learning],
) -> FisherSignature:
    """Learn the PCA and the mixture of a Fisher signature from images.

    Parameters
    ----------
    images : uint8 images, grey or in colour as the descriptor wants them; each is looked at once.
        A thousand, of all classes, are plenty. Those that are spread are sampled by their workers.
    n_components : the number of Gaussians.
    weights : whether signatures hold the gradient with respect to the Gaussians' weights too.
    options : see `Learning`.
    """
    pca, values = _project_sample(images, n_components, **options)
    mixture = learn_mixture(
        values,
        n_components,
        seed=options.get("seed", 0),
        threads=options.get("threads"),
        workers=options.get("workers"),
        progress=options.get("progress", SILENT),
    )
    return FisherSignature(
        *_frame(options, pca), mixture, options.get("regions", 4), weights=weights
    )


def learn_bov(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_words: int = 1024,
    soft: bool = False,
    map: str = "hellinger",
    **options: Unpack[Learning],
) -> BagOfWordsSignature:
    """Learn the PCA and the words of a bag of visual words; parameters as in `learn_fisher`.

    Parameters
    ----------
    images : for a kernel PCA they are looked at twice, so they may not be an iterator.
    soft : whether a descriptor is shared out over the words near it, by a Gaussian as wide as the
        descriptors are spread about their words.
    map : one of `MAPS`.
    """
    if map not in MAPS:
        raise InputError(f"The map must be one of {', '.join(MAPS)}, not {map!r}.")
    if map == KERNEL_PCA and isinstance(images, Iterator):
        raise InputError("A kernel PCA looks at the images twice: give a list, not an iterator.")
    pca, values = _project_sample(images, n_words, **options)
    words = _learn_words(values, n_words, options)
    signature = BagOfWordsSignature(
        *_frame(options, pca),
        words,
        options.get("regions", 4),
        choose_map("hellinger" if map == KERNEL_PCA else map),
        _spread(values, words) if soft else 0.0,
    )
    return _add_kernel_pca(signature, images, options) if map == KERNEL_PCA else signature


def learn_vlad(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_words: int = 256,
    within: bool = False,
    **options: Unpack[Learning],
) -> VladSignature:
    """Learn the PCA and the words of a VLAD signature; parameters as in `learn_fisher`."""
    pca, values = _project_sample(images, n_words, **options)
    words = _learn_words(values, n_words, options)
    return VladSignature(*_frame(options, pca), words, options.get("regions", 4), within=within)


def _frame(options: Learning, pca: PCA) -> tuple[Descriptor, PCA]:
    """Return the fields that all signatures begin with."""
    return options.get("descriptor", _SIFT), pca


def _project_sample(
    images: Iterable[Bytes] | SpreadImages,
    n_words: int,
    *,
    regions: int = 4,
    pca_dim: int | None = None,
    whiten: bool = False,
    descriptor: Descriptor = _SIFT,
    sample: int = 300_000,
    seed: int = 0,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> tuple[PCA, Float]:
    """Sample descriptors, learn their PCA and return it with the projected sample."""
    pyramid_of(regions)
    pca_dim = descriptor.pca_dim if pca_dim is None else pca_dim
    if not 1 <= pca_dim <= descriptor.dim:
        raise InputError(f"pca_dim must be 1 to {descriptor.dim}, not {pca_dim}.")
    if n_words < 1:
        raise InputError(f"A vocabulary needs at least one Gaussian or word, not {n_words}.")
    values = sample_descriptors(
        images,
        descriptor,
        most=sample,
        seed=seed,
        threads=threads,
        workers=workers,
        progress=progress,
    )
    if len(values) < max(n_words, 2):
        raise InputError(
            f"The images gave {len(values)} descriptors, too few for a vocabulary of {n_words}: "
            "give more images or ask for a smaller vocabulary (--components)."
        )
    with thread_executor(
        1
    ):  # BLAS on one thread: its sums then do not depend on the machine's cores
        pca = learn_pca(values, pca_dim, whiten=whiten, workers=workers)
        return pca, pca.project(values)


def _learn_words(values: Float, n_words: int, options: Learning) -> Words:
    return learn_words(
        values,
        n_words,
        seed=options.get("seed", 0),
        threads=options.get("threads"),
        workers=options.get("workers"),
    )


def _spread(values: Float, words: Words) -> float:
    """Return the deviation of descriptors about their words, along one dimension.

    It is the most likely width of Gaussians around the words, were they all equally wide.
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
    signature: BagOfWordsSignature, images: Iterable[Bytes] | SpreadImages, options: Learning
) -> BagOfWordsSignature:
    """Return the signature with kernel PCA on its histograms of the images."""
    threads, progress = options.get("threads"), options.get("progress", SILENT)
    total = len(images) if isinstance(images, Sized) else None
    histograms = []
    with progress.step("Counting words for the kernel PCA", total, "images") as advance:
        counting = _Counting(signature)
        for histogram in map_images(counting, images, colour=signature.colour, threads=threads):
            histograms.append(histogram)
            advance(1)
    with thread_executor(1):
        pca = learn_intersection_pca(
            np.stack(histograms), KERNEL_PCA_DIM, seed=options.get("seed", 0)
        )
    return replace(signature, map=IntersectionMap(pca))
