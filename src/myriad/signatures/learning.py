"""Learning a signature's vocabulary from a stream of images.

The same images and seed give the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable

from myriad.arrays import Bytes, Float
from myriad.descriptors import DenseSIFT, Descriptor, SpreadImages
from myriad.descriptors.sampling import sample_descriptors
from myriad.errors import InputError
from myriad.parallel.threads import pool
from myriad.progress import SILENT, Progress
from myriad.signatures.bov import BagOfWordsSignature
from myriad.signatures.fisher import FisherSignature
from myriad.signatures.pyramid import pyramid_of
from myriad.signatures.vlad import VladSignature
from myriad.vocabularies import PCA, learn_mixture, learn_pca, learn_words

_SIFT = DenseSIFT()


def learn_fisher(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_components: int = 256,
    regions: int = 4,
    pca_dim: int = 64,
    descriptor: Descriptor = _SIFT,
    sample: int = 300_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> FisherSignature:
    """Learn the PCA and the mixture of a Fisher signature from images.

    Parameters
    ----------
    images : uint8 images, grey or in colour as the descriptor wants them; each is looked at once.
        A thousand, of all classes, are plenty. Those that are spread are sampled by their workers.
    n_components : the number of Gaussians.
    regions : of the pyramid, 1, 4 or 8.
    pca_dim : the length of a projected descriptor.
    sample : the most descriptors to learn from, a thousand a Gaussian being plenty; each takes up
        to 1 KB of memory.
    """
    pca, values = _project_sample(
        images, descriptor, n_components, regions, pca_dim, sample, seed, threads, progress
    )
    mixture = learn_mixture(values, n_components, seed=seed, threads=threads, progress=progress)
    return FisherSignature(descriptor, pca, mixture, regions)


def learn_bov(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_words: int = 1024,
    regions: int = 4,
    pca_dim: int = 64,
    descriptor: Descriptor = _SIFT,
    sample: int = 300_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> BagOfWordsSignature:
    """Learn the PCA and the words of a bag of visual words; parameters as in `learn_fisher`."""
    pca, values = _project_sample(
        images, descriptor, n_words, regions, pca_dim, sample, seed, threads, progress
    )
    return BagOfWordsSignature(descriptor, pca, learn_words(values, n_words, seed=seed), regions)


def learn_vlad(
    images: Iterable[Bytes] | SpreadImages,
    *,
    n_words: int = 256,
    regions: int = 4,
    pca_dim: int = 64,
    within: bool = False,
    descriptor: Descriptor = _SIFT,
    sample: int = 300_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> VladSignature:
    """Learn the PCA and the words of a VLAD signature; parameters as in `learn_fisher`."""
    pca, values = _project_sample(
        images, descriptor, n_words, regions, pca_dim, sample, seed, threads, progress
    )
    words = learn_words(values, n_words, seed=seed)
    return VladSignature(descriptor, pca, words, regions, within=within)


def _project_sample(
    images: Iterable[Bytes] | SpreadImages,
    descriptor: Descriptor,
    n_words: int,
    regions: int,
    pca_dim: int,
    sample: int,
    seed: int,
    threads: int | None,
    progress: Progress,
) -> tuple[PCA, Float]:
    """Sample descriptors, learn their PCA and return it with the projected sample."""
    pyramid_of(regions)
    if not 1 <= pca_dim <= descriptor.dim:
        raise InputError(f"pca_dim must be 1 to {descriptor.dim}, not {pca_dim}.")
    if n_words < 1:
        raise InputError(f"A vocabulary needs at least one Gaussian or word, not {n_words}.")
    values = sample_descriptors(
        images, descriptor, most=sample, seed=seed, threads=threads, progress=progress
    )
    if len(values) < max(n_words, 2):
        raise InputError(
            f"The images gave {len(values)} descriptors, too few for a vocabulary of {n_words}: "
            "give more images or ask for a smaller vocabulary (--components)."
        )
    with pool(1):  # BLAS on one thread: its sums then do not depend on the machine's cores
        pca = learn_pca(values, pca_dim)
        return pca, pca.project(values)
