"""Models of few latent features: low-rank weights, or weights on a few chosen features."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, ascends
from myriad.errors import InputError
from myriad.models.linear import LinearModel
from myriad.models.model import Model
from myriad.serialisation import check_array, check_count


@dataclass(frozen=True, eq=False)
class LatentModel(Model):
    """Scores ``s = classes z + b`` of the latent features z of a row; the base class.

    Attributes
    ----------
    classes : float32 array of shape (n_classes, n_latents)
    biases : float32 array of shape (n_classes,)
    """

    classes: Float
    biases: Float

    @abstractmethod
    def project(self, X: Float) -> Float:
        """Return the latent features of rows, float32 of shape (n_samples, n_latents)."""

    @abstractmethod
    def to_linear(self) -> LinearModel:
        """Return the linear model with the same scores."""

    def _check_classes(self, n_latents: int) -> None:
        shape: tuple[int | None, ...] = (None, n_latents)
        check_array(self.classes, "The classes of a factored model", shape, finite=False)
        shape = (len(self.classes),)
        check_array(self.biases, "The biases of a factored model", shape, finite=False)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.classes.shape[0])

    @property
    def n_latents(self) -> int:
        """The number of latent features, which bounds the rank of the weights."""
        return int(self.classes.shape[1])

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes only."""
        scores: Float = self.project(X) @ self.classes[classes].T
        scores += self.biases[classes]
        return scores

    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""
        return self.scores_of(X, slice(None))

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights and the bias of a class."""
        one = slice(label, label + 1)
        linear = replace(self, classes=self.classes[one], biases=self.biases[one]).to_linear()
        return linear.class_weights(0)

    def uncentred(self, mean: Float) -> Self:
        """Return the model for rows from which `mean` (n_features,) was not subtracted."""
        return replace(self, biases=2 * self.biases - self.scores(mean[None])[0])


@dataclass(frozen=True, eq=False)
class FactoredModel(LatentModel, kind="factored"):
    """Weights of low rank: ``W = directions diag(strengths) classes^T`` [LS].

    A row costs rank x (n_features + n_classes) instead of n_features x n_classes.

    Attributes
    ----------
    directions : float32 array of shape (n_features, rank), orthonormal columns.
    strengths : float32 array of shape (rank,), the singular values of W, in descending order.
    classes : float32 array of shape (n_classes, rank), orthonormal columns.
    """

    directions: Float
    strengths: Float

    def __post_init__(self) -> None:
        name = "The directions of a factored model"
        check_array(self.directions, name, (None, None), finite=False, empty=True)
        if len(self.directions) == 0:
            raise InputError("A model needs at least one feature.")
        rank = self.directions.shape[1]
        check_array(self.strengths, "The strengths of a factored model", (rank,), finite=False)
        self._check_classes(rank)

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return int(self.directions.shape[0])

    @property
    def class_latents(self) -> Float:
        """The coordinates of each class in the latent space, float32 (n_classes, rank)."""
        return self.classes * self.strengths

    def project(self, X: Float) -> Float:
        """Return the latent features of rows, float32 of shape (n_samples, rank)."""
        latents: Float = X @ self.directions
        latents *= self.strengths
        return latents

    def to_linear(self) -> LinearModel:
        """Return the linear model with the same scores."""
        return LinearModel(self.class_latents @ self.directions.T, self.biases)


@dataclass(frozen=True, eq=False)
class ChosenModel(LatentModel, kind="chosen"):
    """Weights on a few chosen features, which are the latent features of a row.

    Attributes
    ----------
    features : int64 array of shape (n_latents,), in ascending order.
    n_features : number of features of a row.
    """

    features: NDArray[np.int64]
    n_features: int

    def __post_init__(self) -> None:
        features, dim = self.features, self.n_features
        check_count(dim, "The number of features of a model")
        if not isinstance(features, np.ndarray) or features.dtype != np.int64 or features.ndim != 1:
            raise InputError("The chosen features of a model must be an array of int64.")
        within = not len(features) or (features[0] >= 0 and features[-1] < dim)
        if not within or not ascends(features, strictly=True):
            raise InputError(f"The chosen features of a model must ascend from 0 to {dim - 1}.")
        self._check_classes(len(features))

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return self.n_features

    def project(self, X: Float) -> Float:
        """Return the chosen features of rows, float32 of shape (n_samples, n_latents)."""
        return np.ascontiguousarray(X[:, self.features])

    def to_linear(self) -> LinearModel:
        """Return the linear model with the same scores."""
        W = np.zeros((self.n_classes, self.dim), np.float32)
        W[:, self.features] = self.classes
        return LinearModel(W, self.biases)
