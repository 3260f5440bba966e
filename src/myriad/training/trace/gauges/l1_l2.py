"""The l1/l2 norm: an atom is one feature with a unit vector over classes; few features are used
[LS]."""

from __future__ import annotations

import numpy as np

from myriad.training.trace.gauges.features import FeatureGauge
from myriad.training.trace.gauges.gauge import Atoms, Chart
from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Slope


class FeatureRows(FeatureGauge):
    """The sum over features of the norm over classes; its polar is the largest such norm."""

    def measure(self, B: Real) -> float:
        """Return the sum of the norms of the rows of B."""
        return float(np.linalg.norm(B, axis=1).sum())

    def search(
        self, slope: Slope, point: Point, *, count: int, draw: np.random.Generator, precision: float
    ) -> tuple[float, Atoms]:
        """Return the largest norm of a feature's row of G and the `count` largest, exactly."""
        found: list[tuple[float, int, Real]] = []
        for start, G in self.tiles(slope):
            norms = np.linalg.norm(G.astype(np.float64), axis=1)
            best = np.argsort(-norms, kind="stable")[:count]
            found += [(float(norms[i]), start + int(i), G[i].astype(np.float64)) for i in best]
            found = sorted(found, key=lambda item: -item[0])[:count]
        slopes = np.array([size for size, _, _ in found])
        right = np.stack([-row / max(size, np.finfo(float).tiny) for size, _, row in found], axis=1)
        left = np.array([feature for _, feature, _ in found], np.int64)
        return float(slopes[0]), Atoms(left, right, slopes)

    def scales(self, point: Point) -> Chart:
        """Return the chart of the rows' norms, their directions being fixed."""
        norms = np.linalg.norm(point.B, axis=1)
        units = point.B / np.where(norms > 0, norms, 1.0)[:, None]
        return Chart(
            norms,
            lambda x: x[:, None] * units,
            lambda x, H: np.einsum("pc,pc->p", H, units),
            squared=False,
        )

    def turns(self, point: Point) -> Chart | None:
        """Return the chart ``B_j = a_j r_j``.

        ``lam/2 (a_j^2 + |r_j|^2)`` is least, for a given B_j, at lam times its norm.
        """
        roots = np.sqrt(np.linalg.norm(point.B, axis=1))
        rows = point.B / np.where(roots > 0, roots, 1.0)[:, None]
        p, shape = len(roots), point.B.shape

        def place(x: Real) -> Real:
            return x[:p, None] * x[p:].reshape(shape)

        def pull(x: Real, H: Real) -> Real:
            rows = x[p:].reshape(shape)
            return np.concatenate([np.einsum("pc,pc->p", H, rows), (x[:p, None] * H).ravel()])

        return Chart(np.concatenate([roots, rows.ravel()]), place, pull, squared=True)

    def count(self, point: Point) -> int:
        """Return the number of features used."""
        return int(np.count_nonzero(point.B.any(axis=1)))
