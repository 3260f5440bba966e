"""Gauges whose atoms belong to single features: l1 (few weights) and l1/l2 (few features) [LS]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.training.trace.gauges.gauge import Atoms, Gauge, Parametrisation
from myriad.training.trace.latents import Point, Real, SelectedFeatures
from myriad.training.trace.multinomial import Gradient

TILE_BYTES = 32 << 20
"""Bytes of rows of the gradient that are in memory at a time."""


class FeatureGauge(Gauge):
    """The base class of gauges over a basis of single features."""

    def zeros(self, dim: int, n_classes: int, dtype: Any) -> Point:
        """Return W = 0."""
        return Point(SelectedFeatures(np.zeros(0, np.int64)), np.zeros((0, n_classes)))

    def tiles(self, gradient: Gradient) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the gradient some features at a time, with the number of the first."""
        width = max(1, TILE_BYTES // (4 * gradient.risk.n_classes))
        for start in range(0, gradient.risk.rows.dim, width):
            yield start, gradient.of_features(slice(start, start + width))

    def extend(self, point: Point, atoms: Atoms) -> tuple[Point, Real]:
        """Return the same W over more features, and the sum of the atoms over them."""
        assert isinstance(point.basis, SelectedFeatures)
        features = np.union1d(point.basis.features, atoms.left)
        B = np.zeros((len(features), point.B.shape[1]))
        B[np.searchsorted(features, point.basis.features)] = point.B
        delta = np.zeros_like(B)
        np.add.at(delta, np.searchsorted(features, atoms.left), atoms.right.T)
        return Point(SelectedFeatures(features), B), delta

    def compress(self, point: Point) -> Point:
        """Return the same W without features whose row is zero."""
        assert isinstance(point.basis, SelectedFeatures)
        used = point.B.any(axis=1)
        return Point(SelectedFeatures(point.basis.features[used]), point.B[used])


class L1(FeatureGauge):
    """The l1 norm, the sum of the absolute entries; its polar is the largest one.

    An atom is one entry of W, 1 or -1; few atoms are a sparse W.
    """

    def value(self, B: Real) -> float:
        """Return the sum of the absolute entries."""
        return float(np.abs(B).sum())

    def search(
        self,
        gradient: Gradient,
        point: Point,
        *,
        count: int,
        draw: np.random.Generator,
        precision: float,
    ) -> tuple[float, Atoms]:
        """Return the largest absolute entry of G and the `count` largest, exactly."""
        found: list[tuple[float, int, int, float]] = []
        for start, G in self.tiles(gradient):
            flat = np.abs(G).ravel()
            best = np.argsort(-flat, kind="stable")[:count]
            found += [
                (
                    float(flat[i]),
                    start + int(i) // G.shape[1],
                    int(i) % G.shape[1],
                    float(G.flat[i]),
                )
                for i in best
            ]
        found = sorted(found, key=lambda item: -item[0])[:count]
        right = np.zeros((gradient.risk.n_classes, len(found)))
        for k, (_, _, c, entry) in enumerate(found):
            right[c, k] = -np.sign(entry)
        left = np.array([feature for _, feature, _, _ in found], np.int64)
        slopes = np.array([size for size, _, _, _ in found])
        return float(slopes[0]), Atoms(left, right, slopes)

    def by_weights(self, point: Point) -> Parametrisation:
        """Return the parametrisation by the absolute values of the entries; signs are fixed."""
        at = np.nonzero(point.B)
        signs = np.sign(point.B[at])

        def to_matrix(x: Real) -> Real:
            B = np.zeros_like(point.B)
            B[at] = signs * x
            return B

        return Parametrisation(
            np.abs(point.B[at]), to_matrix, lambda x, H: signs * H[at], squared=False
        )

    def count(self, point: Point) -> int:
        """Return the number of entries."""
        return int(np.count_nonzero(point.B))


class L1L2(FeatureGauge):
    """The l1/l2 norm, the sum over features of the norm over classes; its polar is the largest one.

    An atom is one feature with a unit vector over classes; few atoms are few features used.
    """

    def value(self, B: Real) -> float:
        """Return the sum of the norms of the rows of B."""
        return float(np.linalg.norm(B, axis=1).sum())

    def search(
        self,
        gradient: Gradient,
        point: Point,
        *,
        count: int,
        draw: np.random.Generator,
        precision: float,
    ) -> tuple[float, Atoms]:
        """Return the largest norm of a feature's row of G and the `count` largest, exactly."""
        found: list[tuple[float, int, Real]] = []
        for start, G in self.tiles(gradient):
            norms = np.linalg.norm(G.astype(np.float64), axis=1)
            best = np.argsort(-norms, kind="stable")[:count]
            found += [(float(norms[i]), start + int(i), G[i].astype(np.float64)) for i in best]
            found = sorted(found, key=lambda item: -item[0])[:count]
        slopes = np.array([size for size, _, _ in found])
        right = np.stack([-row / max(size, np.finfo(float).tiny) for size, _, row in found], axis=1)
        left = np.array([feature for _, feature, _ in found], np.int64)
        return float(slopes[0]), Atoms(left, right, slopes)

    def by_weights(self, point: Point) -> Parametrisation:
        """Return the parametrisation by the norms of the rows; their directions are fixed."""
        norms = np.linalg.norm(point.B, axis=1)
        units = point.B / np.where(norms > 0, norms, 1.0)[:, None]
        return Parametrisation(
            norms,
            lambda x: x[:, None] * units,
            lambda x, H: np.einsum("pc,pc->p", H, units),
            squared=False,
        )

    def by_factors(self, point: Point) -> Parametrisation | None:
        """Return the parametrisation ``B_j = a_j r_j`` of the rows of B.

        ``lam/2 (a_j^2 + |r_j|^2)`` is least, for a given B_j, at lam times its norm.
        """
        roots = np.sqrt(np.linalg.norm(point.B, axis=1))
        rows = point.B / np.where(roots > 0, roots, 1.0)[:, None]
        p, shape = len(roots), point.B.shape

        def to_matrix(x: Real) -> Real:
            return x[:p, None] * x[p:].reshape(shape)

        def gradient(x: Real, H: Real) -> Real:
            rows = x[p:].reshape(shape)
            return np.concatenate([np.einsum("pc,pc->p", H, rows), (x[:p, None] * H).ravel()])

        return Parametrisation(
            np.concatenate([roots, rows.ravel()]), to_matrix, gradient, squared=True
        )

    def count(self, point: Point) -> int:
        """Return the number of features used."""
        return int(np.count_nonzero(point.B.any(axis=1)))
