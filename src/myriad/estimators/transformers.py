"""Images to vectors: signatures as scikit-learn transformers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from myriad.estimators.descriptors import DenseSIFT, LocalColour, find_descriptor
from myriad.estimators.parameters import check_parameters
from myriad.estimators.pictures import Picture, Pictures, describe_pictures, read_pictures
from myriad.signatures import Signature, learn_bov, learn_fisher, learn_vlad


class _Aggregated(TransformerMixin, BaseEstimator, ABC):
    """The base class of signatures over local descriptors: a vocabulary, one vector per image.

    Parameters
    ----------
    regions : of the pyramid, 1, 4 or 8.
    pca_dim : length of a projected descriptor; None for the descriptor's own choice.
    whiten : whether projected descriptors are divided by their deviation.
    descriptor : ``"sift"``, ``"colour"``, ``"sift+colour"``, or a `DenseSIFT` or `LocalColour`.
    """

    regions: int
    pca_dim: int | None
    whiten: bool
    descriptor: DenseSIFT | LocalColour | str
    random_state: int
    threads: int | None
    signature_: Signature

    def fit(self, images: Iterable[Picture], y: Any = None) -> Self:
        """Learn the vocabulary from images: file names or uint8 arrays."""
        check_parameters(self)
        part = find_descriptor(self.descriptor)
        read = read_pictures if iter(images) is images else Pictures
        self.signature_ = self._learn(
            read(images, colour=part.colour, pixels=part.pixels),
            regions=self.regions,
            pca_dim=self.pca_dim,
            whiten=self.whiten,
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
        """Return the signature learned from images."""


class FisherVector(_Aggregated):
    """Fisher vectors over a spatial pyramid [GP, 5.1].

    Parameters
    ----------
    n_components : Gaussians of the mixture.
    weights : whether the gradient with respect to the Gaussians' weights is part of the vector.
    coordinates : whether x and y of a patch are part of its descriptor.
    regions : of the pyramid, 1, 4 or 8.
    pca_dim : length of a projected descriptor; None for 64, or 128 of SIFT and colour together, of
        which coordinates take two.
    whiten : whether projected descriptors are divided by their deviation.
    descriptor : ``"sift"``, ``"colour"``, ``"sift+colour"``, or a `DenseSIFT` or `LocalColour`.
    """

    def __init__(
        self,
        *,
        n_components: int = 256,
        weights: bool = False,
        coordinates: bool = True,
        regions: int = 4,
        pca_dim: int | None = None,
        whiten: bool = False,
        descriptor: DenseSIFT | LocalColour | str = "sift",
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.coordinates = coordinates
        self.regions = regions
        self.pca_dim = pca_dim
        self.whiten = whiten
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_fisher(
            images,
            n_components=self.n_components,
            weights=self.weights,
            coordinates=self.coordinates,
            **options,
        )


class BagOfVisualWords(_Aggregated):
    """Counts of visual words over a spatial pyramid [GP, 5.1].

    Parameters
    ----------
    n_words : words of the vocabulary.
    soft : whether a descriptor is assigned to several nearby words.
    map : feature map whose inner products equal or approximate a kernel: ``"hellinger"`` (the
        square root), ``"chi2"`` or ``"intersection"`` (three values per count), or
        ``"intersection-pca"`` (kernel PCA on a sample, [HM, 8.2]).
    regions, pca_dim, whiten, descriptor : as in `FisherVector`.
    """

    def __init__(
        self,
        *,
        n_words: int = 1024,
        soft: bool = False,
        map: str = "hellinger",
        regions: int = 4,
        pca_dim: int | None = None,
        whiten: bool = False,
        descriptor: DenseSIFT | LocalColour | str = "sift",
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.soft = soft
        self.map = map
        self.regions = regions
        self.pca_dim = pca_dim
        self.whiten = whiten
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_bov(images, n_words=self.n_words, soft=self.soft, map=self.map, **options)


class VLAD(_Aggregated):
    """Sums of residuals to visual words over a spatial pyramid.

    Parameters
    ----------
    n_words : words of the vocabulary.
    within : whether the sum of each word is normalised separately (intra-normalisation).
    regions, pca_dim, whiten, descriptor : as in `FisherVector`.
    """

    def __init__(
        self,
        *,
        n_words: int = 256,
        within: bool = False,
        regions: int = 4,
        pca_dim: int | None = None,
        whiten: bool = False,
        descriptor: DenseSIFT | LocalColour | str = "sift",
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.within = within
        self.regions = regions
        self.pca_dim = pca_dim
        self.whiten = whiten
        self.descriptor = descriptor
        self.random_state = random_state
        self.threads = threads

    def _learn(self, images: Iterable[NDArray[np.uint8]], **options: Any) -> Signature:
        return learn_vlad(images, n_words=self.n_words, within=self.within, **options)
