"""The first steps of learning any pooled signature: a sample of descriptors, its PCA, its words.

The same images and seed give the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import numpy as np

from myriad.arrays import Bytes, Float
from myriad.descriptors import DenseSIFT, Descriptor, ImageCollection
from myriad.descriptors.sampling import sample_descriptors
from myriad.errors import InputError
from myriad.parallel import LearningContext, Workers, thread_executor
from myriad.progress import SILENT, Progress
from myriad.signatures.pyramid import pyramid_of
from myriad.vocabularies import PCA, learn_pca

_SIFT = DenseSIFT(keep_empty=False)


class Learning(TypedDict, total=False):
    """The arguments that all functions which learn a pooled signature share.

    Attributes
    ----------
    regions : of the pyramid, 1, 4 (the default) or 8.
    pca_dim : the length of a projected descriptor; the descriptor's own choice by default, of which
        the x and y of Fisher vectors take two.
    whiten : whether projected descriptors are divided by their standard deviation.
    descriptor : the local descriptor of images, dense SIFT by default.
    sample : the most descriptors to learn from, a thousand per Gaussian being plenty; each takes up
        to 1 KB of memory.
    workers : workers that compute the sums of PCA, words and mixture; None for this machine.
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


class TooFewDescriptors(InputError):
    """Patches of the images have too little contrast to learn a vocabulary from."""


def context_of(options: Learning) -> LearningContext:
    """Return how and where a signature is learned."""
    return LearningContext(
        options.get("seed", 0),
        options.get("threads"),
        options.get("workers"),
        options.get("progress", SILENT),
    )


def common_fields(options: Learning, pca: PCA) -> tuple[Descriptor, PCA]:
    """Return the fields that all pooled signatures begin with."""
    return options.get("descriptor", _SIFT), pca


def project_sample(
    images: Iterable[Bytes] | ImageCollection,
    n_words: int,
    *,
    regions: int = 4,
    pca_dim: int | None = None,
    whiten: bool = False,
    descriptor: Descriptor = _SIFT,
    sample: int = 300_000,
    coordinates: bool = False,
    seed: int = 0,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> tuple[PCA, Float]:
    """Sample descriptors, learn their PCA and return it with the projected sample.

    Parameters
    ----------
    coordinates : whether x and y of the patches follow, see `append_coordinates`.
    """
    pyramid_of(regions)
    if pca_dim is None:
        # x and y take the place of two components: product codes need multiples of 8 dimensions,
        # so that features of different Gaussians do not share a code.
        pca_dim = descriptor.pca_dim - 2 * coordinates
    if not 1 <= pca_dim <= descriptor.dim:
        raise InputError(f"pca_dim must be 1 to {descriptor.dim}, not {pca_dim}.")
    if n_words < 1:
        raise InputError(f"A vocabulary needs at least one Gaussian or word, not {n_words}.")
    context = LearningContext(seed, threads, workers, progress)
    values = sample_descriptors(
        images, descriptor, most=sample, positions=coordinates, context=context
    )
    if len(values) == 0:
        raise TooFewDescriptors(
            "The images gave no descriptors: no patch has enough contrast (--contrast)."
        )
    if len(values) < max(n_words, 2):
        raise TooFewDescriptors(
            f"The images gave {len(values)} descriptors, too few for a vocabulary of {n_words}: "
            "give more images or a smaller vocabulary (--components)."
        )
    with thread_executor(1):  # the rounding of BLAS's sums depends on its number of threads
        if not coordinates:
            pca = learn_pca(values, pca_dim, context, whiten=whiten)
            return pca, pca.project(values)
        own = np.ascontiguousarray(values[:, : descriptor.dim])
        pca = learn_pca(own, pca_dim, context, whiten=whiten)
        return pca, append_coordinates(pca.project(own), values[:, descriptor.dim :])


def append_coordinates(projected: Float, positions: Float) -> Float:
    """Return projected descriptors followed by x and y of their patches, from -0.5 to 0.5.

    Diagonal Gaussians do not depend on the scale of a column, so the two need no weight.
    """
    return np.hstack([projected, positions - np.float32(0.5)])
