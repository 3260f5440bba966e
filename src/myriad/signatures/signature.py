"""The base classes of signatures: an image to one vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.descriptors import Descriptor, LocalDescriptors
from myriad.errors import InputError
from myriad.serialisation import Serialisable, check_type
from myriad.signatures.pyramid import check_power, pyramid_of
from myriad.vocabularies import PCA, GaussianMixture, Words


@dataclass(frozen=True, eq=False)
class Signature(Serialisable, ABC):
    """The base of all signatures; a subclass is one file.

    `describe` runs on one thread and releases the GIL where it computes: callers describe images
    in parallel. Its entry in `myriad.signatures.registry` makes a signature known to the command.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """The length of a signature."""

    @property
    @abstractmethod
    def colour(self) -> bool:
        """Whether `describe` takes images of shape (height, width, 3) instead of grey ones."""

    @property
    def pixels(self) -> int | None:
        """The most pixels that `describe` uses: a larger image may be read at a smaller size."""
        return None

    @property
    def learned(self) -> bool:
        """Whether it is learned from images; rows of other signatures can be cached across jobs."""
        return True

    @property
    def period(self) -> int:
        """The number of features of one region: all regions have the same layout."""
        return self.dim

    @property
    def cells(self) -> NDArray[np.int32] | None:
        """The cell, a word or Gaussian of a region, of each feature, (dim,); None if none."""
        return None

    @abstractmethod
    def describe(self, image: Bytes) -> Float:
        """Return the signature of a uint8 image: float32 of shape (dim,), finite.

        An image without descriptors has the zero vector.
        """


def name_samples(recipe: Signature | None) -> str:
    """Return what a sample is called in tables and reports: "image", or "row" without a recipe."""
    return "row" if recipe is None else "image"


class PooledSignature(Signature):
    """The base of Fisher vectors, bags of words and VLAD; all have these fields.

    Local descriptors are pooled over the regions of a spatial pyramid. `power` is the exponent that
    values are raised to before they are normalised, 1 if none.
    """

    descriptor: Descriptor
    pca: PCA
    regions: int
    power: float

    def _check_pooling(self, vocabulary: Words | GaussianMixture, *, coordinates: int = 0) -> None:
        """Raise `InputError` unless the descriptor, the PCA and the vocabulary fit together.

        Parameters
        ----------
        coordinates : number of values that follow the projected descriptors.
        """
        check_type(self.descriptor, Descriptor, f"The descriptor of {self.kind}")
        check_type(self.pca, PCA, f"The PCA of {self.kind}")
        if self.pca.n_features != self.descriptor.dim:
            raise InputError(f"The PCA of {self.kind} does not fit its descriptor.")
        if self.pca.dim + coordinates != vocabulary.dim:
            raise InputError(f"The PCA of {self.kind} does not fit its vocabulary.")
        pyramid_of(self.regions)
        check_power(self.power)

    @property
    def colour(self) -> bool:
        """Whether images must be in colour."""
        return self.descriptor.colour

    @property
    def pixels(self) -> int | None:
        """The most pixels that are used."""
        return self.descriptor.pixels

    def project(self, local: LocalDescriptors) -> Float:
        """Return the descriptors that are pooled: projected by the PCA, float32 (n, dim)."""
        return self.pca.project(local.values)

    @property
    def period(self) -> int:
        """The features of one region."""
        return self.dim // self.regions

    @property
    def n_words(self) -> int:
        """The number of words or Gaussians that have features of their own."""
        return 0

    def columns_of(self, word: int) -> NDArray[np.int64]:
        """Return the features that belong to one word or Gaussian, in all regions; none here."""
        return np.zeros(0, np.int64)

    @property
    def cells(self) -> NDArray[np.int32] | None:
        """The cell, a word or Gaussian of a region, of each feature, (dim,)."""
        words = np.zeros(self.dim, np.int64)
        for word in range(self.n_words):
            words[self.columns_of(word)] = word
        regions = np.arange(self.dim) // self.period
        return (regions * max(1, self.n_words) + words).astype(np.int32)

    def _repeat(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same features in every region."""
        starts = np.arange(self.regions)[:, None] * self.period
        return (starts + columns).reshape(-1)
