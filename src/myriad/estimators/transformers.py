"""Images to vectors: signatures as scikit-learn transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from myriad import descriptors
from myriad.estimators.pictures import AHEAD, Picture, describe_pictures, read_pictures
from myriad.parallel import map_ordered, pool
from myriad.signatures import Signature, learn_bov, learn_fisher, learn_vlad


class DenseSIFT(TransformerMixin, BaseEstimator):
    """Dense SIFT descriptors [GP, 5.1]: a list of arrays of shape (n_descriptors, 128).

    Nothing is learned; see `myriad.descriptors.DenseSIFT` for the geometry and the parameters.
    """

    def __init__(
        self,
        *,
        patch: int = 24,
        step: int = 6,
        scales: int = 5,
        max_pixels: int = 100_000,
        root: bool = True,
        threads: int | None = None,
    ) -> None:
        self.patch = patch
        self.step = step
        self.scales = scales
        self.max_pixels = max_pixels
        self.root = root
        self.threads = threads

    def fit(self, images: Any = None, y: Any = None) -> Self:
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, images: Iterable[Picture]) -> list[NDArray[np.float32]]:
        """Return the descriptors of each image."""
        part = self.part()
        pictures = read_pictures(images, colour=part.colour, pixels=part.pixels)
        with pool(self.threads) as executor:
            found = map_ordered(part.describe, pictures, executor, ahead=AHEAD)
            return [local.values for local in found]

    def part(self) -> descriptors.DenseSIFT:
        """Return the descriptor that does the work."""
        return descriptors.DenseSIFT(
            patch=self.patch,
            step=self.step,
            scales=self.scales,
            max_pixels=self.max_pixels,
            root=self.root,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Aggregated(TransformerMixin, BaseEstimator, ABC):
    """What the signatures over dense SIFT share: a vocabulary to learn, a vector an image."""

    regions: int
    pca_dim: int
    descriptor: DenseSIFT | None
    random_state: int
    threads: int | None
    signature_: Signature

    def fit(self, images: Iterable[Picture], y: Any = None) -> Self:
        """Learn the vocabulary from images: file names or uint8 arrays."""
        part = (self.descriptor or DenseSIFT()).part()
        self.signature_ = self._learn(
            read_pictures(images, colour=part.colour, pixels=part.pixels),
            regions=self.regions,
            pca_dim=self.pca_dim,
            descriptor=part,
            seed=self.random_state,
            threads=self.threads,
        )
        return self

    def transform(self, images: Iterable[Picture]) -> NDArray[np.float32]:
        """Return a vector for each image, of shape (n_images, dim)."""
        check_is_fitted(self, "signature_")
        return describe_pictures(images, self.signature_, self.threads)

    @abstractmethod
    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        """Learn what `fit` keeps."""


class FisherVector(_Aggregated):
    """Fisher vectors over a spatial pyramid [GP, 5.1].

    Parameters
    ----------
    n_components : Gaussians of the mixture.
    regions : of the pyramid, 1, 4 or 8.
    pca_dim : length of a projected descriptor.
    descriptor : the `DenseSIFT` to use; None for the default one.
    """

    def __init__(
        self,
        *,
        n_components: int = 256,
        regions: int = 4,
        pca_dim: int = 64,
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.regions = regions
        self.pca_dim = pca_dim
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_fisher(images, n_components=self.n_components, **options)


class BagOfVisualWords(_Aggregated):
    """Counts of visual words over a spatial pyramid [GP, 5.1]; `n_words` is their number."""

    def __init__(
        self,
        *,
        n_words: int = 1024,
        regions: int = 4,
        pca_dim: int = 64,
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.regions = regions
        self.pca_dim = pca_dim
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_bov(images, n_words=self.n_words, **options)


class VLAD(_Aggregated):
    """Sums of residuals to visual words; `within` normalises each word's sum by itself."""

    def __init__(
        self,
        *,
        n_words: int = 256,
        regions: int = 4,
        pca_dim: int = 64,
        within: bool = False,
        descriptor: DenseSIFT | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.regions = regions
        self.pca_dim = pca_dim
        self.within = within
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_vlad(images, n_words=self.n_words, within=self.within, **options)
