"""Search of prototypes: the best classes of embedded rows, exact or approximate.

Exact search multiplies tiles of rows and prototypes that fit into the cache, and merges the k best
classes tile by tile. Approximate search uses an inverted file: it probes only the cells nearest to
a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.models.cells import Cells
from myriad.models.ranking import merge_top
from myriad.parallel import ThreadPool, open_threads

TILE_ROWS, TILE_CLASSES = 256, 2048
PROBED_ROWS = 1024
"""Rows that probe cells together: the more, the larger the matrix products."""
SHARED_FROM = 1 << 24
"""Least number of rows times classes that is shared among threads."""


@dataclass(frozen=True, eq=False)
class Prototypes:
    """A point per class; the best class has the largest ``scale P_c z + offset_c``.

    Attributes
    ----------
    points : float32 array P of shape (n_classes, dim)
    offsets : float32 array of shape (n_classes,)
    scale : 2 to find the nearest point, 1 to find the largest inner product.
    centres : float32 array of shape (n_cells, dim), or None for exact search.
    probes : number of cells that are probed.
    """

    points: Float
    offsets: Float
    scale: float
    centres: Float | None = None
    probes: int = 1

    def rank(
        self, X: Float, k: int, *, map: Float | None = None
    ) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of rows and their scores, best first.

        The rows are embedded, unless there is a `map` of shape (dim, n_features) that embeds them.
        """
        labels = np.full((len(X), k), -1, np.int32)
        best = np.full((len(X), k), -np.inf, np.float32)
        exact = self.centres is None
        search, size = (self._search, TILE_ROWS) if exact else (self._probe, PROBED_ROWS)
        if not exact:
            self.cells  # noqa: B018  computed before threads use them
        parts = [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]

        def rank_part(part: slice) -> None:
            Z = X[part] if map is None else X[part] @ map.T
            search(Z, labels[part], best[part])

        if len(X) * len(self.points) < SHARED_FROM:
            ThreadPool(1, None).share(rank_part, parts)
        else:
            with open_threads() as pool:
                pool.share(rank_part, parts)
        return labels, best

    def _search(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows, from all classes."""
        scaled = np.float32(self.scale) * Z
        for first in range(0, len(self.points), TILE_CLASSES):
            tile = slice(first, first + TILE_CLASSES)
            products = scaled @ self.points[tile].T
            merge_top(products, self.offsets[tile], labels, best, first)

    def _probe(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows, from the probed cells."""
        self.cells.search(Z, self.offsets, self.scale, self.probes, labels, best)
        short = labels[:, -1] < 0
        if short.any():  # the probed cells have fewer than k classes: search all
            some_labels = np.full((int(short.sum()), labels.shape[1]), -1, np.int32)
            some_best = np.full(some_labels.shape, -np.inf, np.float32)
            self._search(Z[short], some_labels, some_best)
            labels[short], best[short] = some_labels, some_best

    @cached_property
    def cells(self) -> Cells:
        """The prototypes grouped by cell; computed at first use."""
        assert self.centres is not None
        return Cells.of(self.points, self.centres, nearest=self.scale != 1.0)


def find_recall(exact: NDArray[np.int32], found: NDArray[np.int32]) -> float:
    """Return the fraction of the exact best classes that was found, both (n_samples, k)."""
    hits = (exact[:, :, None] == found[:, None, :]).any(axis=2)
    return float(hits.mean()) if hits.size else 1.0
