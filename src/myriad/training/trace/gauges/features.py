"""What gauges whose atoms belong to single features share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.training.trace.gauges.gauge import Atoms, Gauge
from myriad.training.trace.latents import Chosen, Point, Real
from myriad.training.trace.multinomial import Slope

TILE_BYTES = 32 << 20
"""Rows of the gradient that are held at a time."""


class FeatureGauge(Gauge):
    """A gauge over a basis of single features."""

    def begin(self, dim: int, n_classes: int, dtype: Any) -> Point:
        """Return W = 0."""
        return Point(Chosen(np.zeros(0, np.int64)), np.zeros((0, n_classes)))

    def tiles(self, slope: Slope) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the gradient some features at a time, with the number of the first."""
        width = max(1, TILE_BYTES // (4 * slope.risk.n_classes))
        for start in range(0, slope.risk.rows.dim, width):
            yield start, slope.of_features(slice(start, start + width))

    def extend(self, point: Point, atoms: Atoms) -> tuple[Point, Real]:
        """Return the same W over more features, and the sum of the atoms over them."""
        assert isinstance(point.basis, Chosen)
        features = np.union1d(point.basis.features, atoms.left)
        B = np.zeros((len(features), point.B.shape[1]))
        B[np.searchsorted(features, point.basis.features)] = point.B
        delta = np.zeros_like(B)
        np.add.at(delta, np.searchsorted(features, atoms.left), atoms.right.T)
        return Point(Chosen(features), B), delta

    def compress(self, point: Point) -> Point:
        """Return the same W without features whose row is zero."""
        assert isinstance(point.basis, Chosen)
        used = point.B.any(axis=1)
        return Point(Chosen(point.basis.features[used]), point.B[used])
