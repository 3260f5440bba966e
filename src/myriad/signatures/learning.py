"""The first steps of learning any pooled signature: a sample of descriptors, its PCA, its words.

The same images and seed give the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
SAMPLE = 300_000
"""Most descriptors that a vocabulary is learned from, by default."""


class TooFewDescriptors(InputError):
    """Patches of the images have too little contrast to learn a vocabulary from."""


@dataclass(frozen=True, kw_only=True)
class VocabularyLearning:
    """How the vocabulary of a pooled signature is learned.

    Attributes
    ----------
    regions : of the pyramid, 1, 4 or 8.
    pca_dim : the length of a projected descriptor; None for the descriptor's own choice, of which
        the x and y of Fisher vectors take two.
    whiten : whether projected descriptors are divided by their standard deviation.
    descriptor : the local descriptor of images.
    sample : the most descriptors to learn from, a thousand per Gaussian being plenty; each takes up
        to 1 KB of memory.
    workers : workers that compute the sums of PCA, words and mixture; None for this machine.
    """

    regions: int = 4
    pca_dim: int | None = None
    whiten: bool = False
    descriptor: Descriptor = _SIFT
    sample: int = SAMPLE
    seed: int = 0
    threads: int | None = None
    workers: Workers | None = None
    progress: Progress = SILENT

    @property
    def context(self) -> LearningContext:
        """How and where the vocabulary is learned."""
        return LearningContext(self.seed, self.threads, self.workers, self.progress)

    def project_sample(
        self,
        images: Iterable[Bytes] | ImageCollection,
        n_words: int,
        *,
        coordinates: bool = False,
    ) -> tuple[PCA, Float]:
        """Sample descriptors, learn their PCA and return it with the projected sample.

        Parameters
        ----------
        coordinates : whether x and y of the patches follow, see `append_coordinates`.
        """
        pyramid_of(self.regions)
        descriptor, pca_dim = self.descriptor, self.pca_dim
        if pca_dim is None:
            # x and y take the place of two components: product codes need multiples of 8
            # dimensions, so that features of different Gaussians do not share a code.
            pca_dim = descriptor.pca_dim - 2 * coordinates
        if not 1 <= pca_dim <= descriptor.dim:
            raise InputError(f"pca_dim must be 1 to {descriptor.dim}, not {pca_dim}.")
        if n_words < 1:
            raise InputError(f"A vocabulary needs at least one Gaussian or word, not {n_words}.")
        values = sample_descriptors(
            images, descriptor, most=self.sample, positions=coordinates, context=self.context
        )
        if len(values) == 0:
            raise TooFewDescriptors(
                "The images gave no descriptors: no patch has enough contrast (--contrast)."
            )
        if len(values) < max(n_words, 2):
            raise TooFewDescriptors(
                f"The images gave {len(values)} descriptors, too few for a vocabulary of "
                f"{n_words}: give more images or a smaller vocabulary (--components)."
            )
        own = np.ascontiguousarray(values[:, : descriptor.dim]) if coordinates else values
        with thread_executor(1):  # the rounding of BLAS's sums depends on its number of threads
            pca = learn_pca(own, pca_dim, self.context, whiten=self.whiten)
            projected = pca.project(own)
        if not coordinates:
            return pca, projected
        return pca, append_coordinates(projected, values[:, descriptor.dim :])


def append_coordinates(projected: Float, positions: Float) -> Float:
    """Return projected descriptors followed by x and y of their patches, from -0.5 to 0.5.

    Diagonal Gaussians do not depend on the scale of a column, so the two need no weight.
    """
    return np.hstack([projected, positions - np.float32(0.5)])
