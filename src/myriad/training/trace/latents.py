"""Weights as a basis and coefficients of the classes: ``W = basis B``, never multiplied out.

A basis holds p directions of the feature space, either arbitrary vectors or single features; the
latents of a row are its p coordinates ``z``, and its scores are ``B^T z + b``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


class Basis(ABC):
    """Directions of the feature space; the base class."""

    @property
    @abstractmethod
    def n_latents(self) -> int:
        """The number p of directions."""

    @abstractmethod
    def project(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint."""


@dataclass(frozen=True, eq=False)
class Directions(Basis):
    """Arbitrary directions.

    Attributes
    ----------
    vectors : array of shape (n_features, p) with orthonormal columns.
    """

    vectors: NDArray[Any]

    @property
    def n_latents(self) -> int:
        """The number p of directions."""
        return int(self.vectors.shape[1])

    def project(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""
        return X @ self.vectors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint."""
        return {"vectors": self.vectors}


@dataclass(frozen=True, eq=False)
class SelectedFeatures(Basis):
    """Single features.

    Attributes
    ----------
    features : int64 array of shape (p,), ascending.
    """

    features: NDArray[np.int64]

    @property
    def n_latents(self) -> int:
        """The number p of features."""
        return len(self.features)

    def project(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""
        return np.ascontiguousarray(X[:, self.features])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint."""
        return {"features": self.features}


@dataclass(frozen=True, eq=False)
class Point:
    """Weights ``W = basis B``.

    Attributes
    ----------
    basis : the directions.
    B : float64 array of shape (p, n_classes)
    """

    basis: Basis
    B: Real

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint; `read_point` reads them."""
        return {**self.basis.arrays(), "B": self.B}


def read_point(arrays: Mapping[str, NDArray[Any]]) -> Point:
    """Return the point whose arrays a checkpoint has."""
    if "vectors" in arrays:
        return Point(Directions(arrays["vectors"]), arrays["B"])
    return Point(SelectedFeatures(arrays["features"]), arrays["B"])
