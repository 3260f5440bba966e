"""The l1 norm: an atom is one entry of W, up or down; few atoms are a sparse W [LS]."""

from __future__ import annotations

import numpy as np

from myriad.training.trace.gauges.features import FeatureGauge
from myriad.training.trace.gauges.gauge import Atoms, Chart
from myriad.training.trace.latents import Point, Real
from myriad.training.trace.multinomial import Slope


class Entries(FeatureGauge):
    """The sum of the absolute entries; its polar is the largest one."""

    def measure(self, B: Real) -> float:
        """Return the sum of the absolute entries."""
        return float(np.abs(B).sum())

    def search(
        self, slope: Slope, point: Point, *, count: int, draw: np.random.Generator, precision: float
    ) -> tuple[float, Atoms]:
        """Return the largest absolute entry of G and the `count` largest, exactly."""
        found: list[tuple[float, int, int, float]] = []
        for start, G in self.tiles(slope):
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
        right = np.zeros((slope.risk.n_classes, len(found)))
        for k, (_, _, c, entry) in enumerate(found):
            right[c, k] = -np.sign(entry)
        left = np.array([feature for _, feature, _, _ in found], np.int64)
        slopes = np.array([size for size, _, _, _ in found])
        return float(slopes[0]), Atoms(left, right, slopes)

    def scales(self, point: Point) -> Chart:
        """Return the chart of the entries' sizes, their signs being fixed."""
        at = np.nonzero(point.B)
        signs = np.sign(point.B[at])

        def place(x: Real) -> Real:
            B = np.zeros_like(point.B)
            B[at] = signs * x
            return B

        return Chart(np.abs(point.B[at]), place, lambda x, H: signs * H[at], squared=False)

    def count(self, point: Point) -> int:
        """Return the number of entries."""
        return int(np.count_nonzero(point.B))
