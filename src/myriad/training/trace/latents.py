"""Weights as a basis and what classes make of it: ``W = basis B``, never multiplied out.

A basis holds p directions of the feature space, either free vectors or single features; the latents
of a row are its p coordinates ``z``, and its scores are ``B^T z + b``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


class Basis(ABC):
    """Directions of the feature space; the base of both kinds."""

    @property
    @abstractmethod
    def n_latents(self) -> int:
        """The number p of directions."""

    @abstractmethod
    def lift(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps."""


@dataclass(frozen=True, eq=False)
class Directions(Basis):
    """Free directions.

    Attributes
    ----------
    vectors : array of shape (n_features, p) with orthonormal columns.
    """

    vectors: NDArray[Any]

    @property
    def n_latents(self) -> int:
        """The number p of directions."""
        return int(self.vectors.shape[1])

    def lift(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""
        return X @ self.vectors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps."""
        return {"vectors": self.vectors}


@dataclass(frozen=True, eq=False)
class Chosen(Basis):
    """Single features.

    Attributes
    ----------
    features : int64 array of shape (p,), rising.
    """

    features: NDArray[np.int64]

    @property
    def n_latents(self) -> int:
        """The number p of features."""
        return len(self.features)

    def lift(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the latents (n, p) of rows (n, n_features)."""
        return np.ascontiguousarray(X[:, self.features])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a checkpoint keeps."""
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
        """Return what a checkpoint keeps; `point_of` reads it."""
        return {**self.basis.arrays(), "B": self.B}


def point_of(arrays: dict[str, NDArray[Any]]) -> Point:
    """Return the point that a checkpoint keeps."""
    if "vectors" in arrays:
        return Point(Directions(arrays["vectors"]), arrays["B"])
    return Point(Chosen(arrays["features"]), arrays["B"])
