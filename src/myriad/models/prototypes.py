"""Searching prototypes: the best classes of embedded rows, exactly or by an inverted file.

The exact way multiplies tiles of rows and prototypes that stay in the cache, and keeps the k best
as it goes. The approximate way looks only into the few cells of a partition that lie nearest to the
row: faiss's inverted file over centres that are kept as a plain array, so that no file of faiss's
own is ever read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.models.ranking import merge_top
from myriad.parallel import Team, team

TILE_ROWS, TILE_CLASSES = 256, 2048
SHARED_FROM = 1 << 24
"""Products of rows and classes from which threads share the work."""


@dataclass(frozen=True, eq=False)
class Prototypes:
    """A point for each class, searched by the largest ``scale P_c z + offset_c``.

    Attributes
    ----------
    points : float32 array P of shape (n_classes, dim)
    offsets : float32 array of shape (n_classes,)
    scale : 2 where the nearest point is meant, 1 where the largest product is.
    centres : float32 array of shape (n_cells, dim), or None for exact search.
    probes : cells that are looked into.
    """

    points: Float
    offsets: Float
    scale: float
    centres: Float | None = None
    probes: int = 1

    def rank(self, Z: Float, k: int) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of embedded rows and their scores, best first."""
        labels = np.full((len(Z), k), -1, np.int32)
        best = np.full((len(Z), k), -np.inf, np.float32)
        search = self._search if self.centres is None else self._probe
        starts = range(0, len(Z), TILE_ROWS)
        parts = [slice(start, min(start + TILE_ROWS, len(Z))) for start in starts]

        def rank_part(part: slice) -> None:
            search(Z[part], labels[part], best[part])

        if len(Z) * len(self.points) < SHARED_FROM:
            Team(1, None).share(rank_part, parts)
        else:
            with team() as crew:
                crew.share(rank_part, parts)
        return labels, best

    def _search(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows, all classes looked at."""
        scaled = np.float32(self.scale) * Z
        for first in range(0, len(self.points), TILE_CLASSES):
            tile = slice(first, first + TILE_CLASSES)
            products = scaled @ self.points[tile].T
            merge_top(products, self.offsets[tile], labels, best, first)

    def _probe(self, Z: Float, labels: NDArray[np.int32], best: Float) -> None:
        """Write the best classes of a tile of rows as far as the cells looked into hold them."""
        found = self._index.search(Z, labels.shape[1])[1]
        short = (found < 0).any(axis=1)
        if short.any():  # the cells hold fewer classes than are wanted
            some_labels, some_best = labels[short], best[short]
            self._search(Z[short], some_labels, some_best)
            labels[short], best[short] = some_labels, some_best
        Z, found = Z[~short], found[~short]
        scores = np.einsum("id,ikd->ik", Z, self.points[found]) * np.float32(self.scale)
        scores += self.offsets[found]
        order = np.lexsort((found, -scores), axis=1)
        labels[~short] = np.take_along_axis(found, order, axis=1)
        best[~short] = np.take_along_axis(scores, order, axis=1)

    @cached_property
    def _index(self) -> Any:
        """The inverted file; made when first asked for."""
        import faiss

        assert self.centres is not None
        dim = self.points.shape[1]
        nearest = self.scale != 1.0
        coarse = faiss.IndexFlatL2(dim) if nearest else faiss.IndexFlatIP(dim)
        coarse.add(self.centres)
        metric = faiss.METRIC_L2 if nearest else faiss.METRIC_INNER_PRODUCT
        index = faiss.IndexIVFFlat(coarse, dim, len(self.centres), metric)
        index.add(self.points)
        index.nprobe = min(self.probes, len(self.centres))
        return index


def find_recall(exact: NDArray[np.int32], found: NDArray[np.int32]) -> float:
    """Return the part of the exact best classes of rows, both (n_samples, k), that was found."""
    hits = (exact[:, :, None] == found[:, None, :]).any(axis=2)
    return float(hits.mean()) if hits.size else 1.0
