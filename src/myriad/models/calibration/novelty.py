"""Novelty: how unlike the training rows of every class a row is.

A row is novel if it is far from all class means and no class has a high score. The distance is
measured in the main directions of the rows, plus what lies outside of them. Distance and best score
are standardised by those of known rows, and their difference is the novelty. On classes left out of
training it does as well as the distance to class means in all features, which would take as much
memory as the weights, and better than scores alone; see ``docs/probabilities.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.serialisation import Serialisable, check_array

MOST_DIRECTIONS = 64
MOST_VALUES = 4 << 20
"""Most numbers that the directions take."""
FEWEST_DIRECTIONS = 8
BLOCK_ROWS = 256


@dataclass(frozen=True, eq=False)
class Novelty(Serialisable, kind="novelty"):
    """Where the classes are, and what is usual for rows of known classes.

    Attributes
    ----------
    mean : float32 array of shape (n_features,), the mean of the rows.
    directions : float32 array of shape (n_directions, n_features), orthonormal.
    points : float32 array of shape (n_classes, n_directions), the class means; NaN for a class
        without rows.
    centre, spread : mean and standard deviation of the distances of known rows.
    usual : float32 array, the novelty of known rows, ascending.
    """

    mean: Float
    directions: Float
    points: Float
    centre: float
    spread: float
    usual: Float

    def __post_init__(self) -> None:
        name = "of a novelty score"
        check_array(self.directions, f"The directions {name}", (None, None), finite=False)
        n_directions, n_features = self.directions.shape
        check_array(self.mean, f"The mean {name}", (n_features,), finite=False)
        check_array(self.points, f"The points {name}", (None, n_directions), finite=False)
        check_array(self.usual, f"The usual values {name}", (None,), finite=False)
        if not self.spread > 0:
            raise InputError("The novelty score of the model is damaged.")

    def measure(self, X: Float, best_scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the novelty of rows; 0 is usual, and the higher the more novel.

        Parameters
        ----------
        X : float32 array of shape (n_rows, n_features)
        best_scores : the best score of each row, standardised; see `Calibration.standardise`.
        """
        Z, outside = project(X, self.mean, self.directions)
        distances = nearest(Z, self.points) + outside
        return (np.sqrt(distances) - self.centre) / self.spread - best_scores

    def compare(self, novelty: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fraction of known rows that are less novel than each of some rows."""
        return np.searchsorted(self.usual, novelty.astype(np.float32)) / len(self.usual)

    def find_limit(self, fraction: float) -> float:
        """Return the novelty that so small a fraction of known rows exceeds."""
        return float(np.quantile(self.usual, 1.0 - fraction))


def count_directions(dim: int, n_rows: int) -> int:
    """Return how many directions are used; 0 if rows have too many features or are too few."""
    found = min(MOST_DIRECTIONS, MOST_VALUES // dim, dim, n_rows - 1)
    return found if found >= min(FEWEST_DIRECTIONS, dim) else 0


def find_directions(X: Float, n_directions: int) -> tuple[Float, Float]:
    """Return the mean of rows and their main directions, by the products of the rows.

    Parameters
    ----------
    X : float32 array of shape (n_rows, n_features)
    """
    mean = X.mean(axis=0, dtype=np.float64)
    away = X - mean.astype(np.float32)
    values, vectors = np.linalg.eigh((away @ away.T).astype(np.float64))
    kept = np.argsort(-values, kind="stable")[:n_directions]
    kept = kept[values[kept] > 1e-9 * max(values.max(), 1e-30)]
    found = (vectors[:, kept] / np.sqrt(values[kept])).T @ away
    return mean.astype(np.float32), np.ascontiguousarray(found, np.float32)


def project(X: Float, mean: Float, directions: Float) -> tuple[Float, NDArray[np.float64]]:
    """Return rows in their main directions, and their squared distance from these."""
    away: Float = X - mean
    Z: Float = away @ directions.T
    whole, inside = (np.einsum("ij,ij->i", rows, rows).astype(np.float64) for rows in (away, Z))
    return Z, np.maximum(whole - inside, 0.0)


def measure_distances(Z: Float, points: Float) -> NDArray[np.float64]:
    """Return the squared distances of rows to all points, infinite where a point is NaN."""
    squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)[:, None]
    products = (Z @ points.T).astype(np.float64)
    found = squares - 2.0 * products + np.einsum("ij,ij->i", points, points, dtype=np.float64)
    return np.where(np.isnan(found), np.inf, np.maximum(found, 0.0))


def nearest(Z: Float, points: Float) -> NDArray[np.float64]:
    """Return the squared distance of each row to the nearest point, some rows at a time."""
    found = np.empty(len(Z))
    for start in range(0, len(Z), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        found[some] = measure_distances(Z[some], points).min(axis=1)
    return found
