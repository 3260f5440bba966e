"""The interface of gauges: atoms, the polar that finds the best of them, parametrisations of W."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Gradient


@dataclass(frozen=True, eq=False)
class Atoms:
    """Some atoms ``u v^T``, the best first.

    Attributes
    ----------
    left : their u: float array (n_features, k), or int64 (k,) where u is a single feature.
    right : their v, float array of shape (n_classes, k)
    slopes : ``<-G, u v^T>`` of each, float64 (k,), descending; G is the gradient of the risk.
    """

    left: NDArray[Any]
    right: NDArray[Any]
    slopes: Real

    def first(self, k: int) -> Atoms:
        """Return the best `k`."""
        return Atoms(self.left[..., :k], self.right[:, :k], self.slopes[:k])

    def above(self, least: float) -> Atoms:
        """Return those whose gradient is larger than a number."""
        return self.first(int(np.count_nonzero(self.slopes > least)))

    def __len__(self) -> int:
        return len(self.slopes)


@dataclass(frozen=True, eq=False)
class Parametrisation:
    """B as a function of parameters x in which the penalised risk is smooth.

    Attributes
    ----------
    start : the x of the current B, float64 (m,)
    to_matrix : returns B for some x.
    gradient : returns the gradient with respect to x, from x and the gradient with respect to B.
    squared : whether the penalty is ``lam/2 |x|^2``; else it is ``lam sum x`` with x >= 0.
    """

    start: Real
    to_matrix: Callable[[Real], Real]
    gradient: Callable[[Real, Real], Real]
    squared: bool

    def penalty(self, x: Real, lam: float) -> tuple[float, Real]:
        """Return the penalty and its gradient with respect to x."""
        if self.squared:
            return 0.5 * lam * float(x @ x), lam * x
        return lam * float(x.sum()), np.full(len(x), lam)


class Gauge(ABC):
    """A norm of W: the least sum of weights of atoms whose weighted sum is W [LS].

    The polar of a matrix is its largest inner product with an atom.
    """

    @abstractmethod
    def zeros(self, dim: int, n_classes: int, dtype: Any) -> Point:
        """Return W = 0."""

    @abstractmethod
    def value(self, B: Real) -> float:
        """Return the gauge of ``basis B``."""

    @abstractmethod
    def search(
        self,
        gradient: Gradient,
        point: Point,
        *,
        count: int,
        draw: np.random.Generator,
        precision: float,
    ) -> tuple[float, Atoms]:
        """Return the polar of -G and the (at most) `count` atoms best aligned with -G.

        Parameters
        ----------
        gradient : G, at `point`.
        precision : the relative error that the polar may have, where it is not found exactly.
        """

    @abstractmethod
    def extend(self, point: Point, atoms: Atoms) -> tuple[Point, Real]:
        """Return the same W over a basis that holds the atoms, and the sum of the atoms over it."""

    @abstractmethod
    def by_weights(self, point: Point) -> Parametrisation:
        """Return the parametrisation by the weights ``theta >= 0`` of the atoms of W."""

    def by_factors(self, point: Point) -> Parametrisation | None:
        """Return a parametrisation by factors in which atoms can change; None if there is none."""
        return None

    @abstractmethod
    def compress(self, point: Point) -> Point:
        """Return the same W without directions whose coefficients are zero."""

    @abstractmethod
    def count(self, point: Point) -> int:
        """Return the number of atoms."""

    def rank(self, point: Point) -> int:
        """Return the rank of W."""
        return int(np.linalg.matrix_rank(point.B)) if point.B.size else 0
