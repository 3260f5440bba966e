"""An inverted file of prototypes: only the cells nearest to a row are searched for classes.

All rows of a tile that probe the same cell are multiplied with its prototypes together: so each
cell is read once per tile, and a probed class costs no more than in exact search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.models.ranking import merge_cell

ASSIGNED_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Cells:
    """Prototypes grouped by cell.

    Attributes
    ----------
    centres : float32 array of shape (n_cells, dim)
    offsets : float32 array of shape (n_cells,): cells are probed by descending ``c z + offset_c``.
    starts : int64 array of shape (n_cells + 1,), the position of the first class of each cell.
    classes : int32 array of shape (n_classes,), cell by cell, in ascending order within a cell.
    points : float32 array of shape (n_classes, dim), their prototypes.
    """

    centres: Float
    offsets: Float
    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    points: Float

    @classmethod
    def of(cls, points: Float, centres: Float, *, nearest: bool) -> Self:
        """Assign each prototype to the cell of its nearest centre.

        Cells are probed in the order of the distance of their centre if `nearest` is true,
        otherwise of the inner product with it.
        """
        halves = np.float32(-0.5) * np.einsum("cd,cd->c", centres, centres)
        cell = np.empty(len(points), np.int64)
        for start in range(0, len(points), ASSIGNED_ROWS):
            some = slice(start, start + ASSIGNED_ROWS)
            cell[some] = (points[some] @ centres.T + halves).argmax(axis=1)
        order = np.argsort(cell, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(centres)))])
        offsets = halves if nearest else np.zeros_like(halves)
        return cls(centres, offsets, starts, order.astype(np.int32), points[order])

    def prioritise(self, Z: Float) -> Float:
        """Return the priority of each cell for embedded rows, float32 (n_samples, n_cells)."""
        priorities: Float = Z @ self.centres.T
        priorities += self.offsets
        return priorities

    def find_cells(self) -> NDArray[np.int64]:
        """Return the cell of each class."""
        cells = np.empty(len(self.classes), np.int64)
        cells[self.classes] = np.repeat(np.arange(len(self.centres)), np.diff(self.starts))
        return cells

    def count_probes(self, Z: Float, wanted: NDArray[np.int32], recall: float) -> int:
        """Return how many cells must be probed to find a fraction of the classes `wanted`.

        Parameters
        ----------
        wanted : int32 array of shape (n_samples, k), the best classes of the rows.
        recall : the fraction of `wanted` to find.
        """
        priorities = self.prioritise(Z)
        order = np.argsort(-priorities, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(len(self.centres))[None], axis=1)
        needed = np.sort(np.take_along_axis(ranks, self.find_cells()[wanted], axis=1), axis=None)
        if len(needed) == 0:
            return 1
        return int(needed[min(len(needed) - 1, int(np.ceil(recall * len(needed))) - 1)]) + 1

    def search(
        self, Z: Float, offsets: Float, scale: float, probes: int,
        labels: NDArray[np.int32], best: Float,
    ) -> None:  # fmt: skip
        """Merge the classes of the nearest cells into the best classes of a tile of rows.

        Scores are ``scale P_c z + offset_c`` with the offsets of the classes. Changes `labels` and
        `best` in place; see `ranking.merge_top`.
        """
        scaled = np.float32(scale) * Z
        for cell, rows in self._visits(Z, probes):
            some = slice(self.starts[cell], self.starts[cell + 1])
            products = scaled[rows] @ self.points[some].T
            classes = self.classes[some]
            merge_cell(products, offsets[classes], classes, rows, labels, best)

    def _visits(self, Z: Float, probes: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the probed cells that have classes, with the rows that probe them."""
        n_cells = len(self.centres)
        if probes < n_cells:
            chosen = np.argpartition(-self.prioritise(Z), probes - 1, axis=1)[:, :probes]
        else:
            chosen = np.broadcast_to(np.arange(n_cells), (len(Z), n_cells))
        cells = chosen.astype(np.uint16 if n_cells < 1 << 16 else np.int64).ravel()
        order = np.argsort(cells, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n_cells))])
        rows = order // chosen.shape[1]
        for cell in np.flatnonzero((np.diff(bounds) > 0) & (np.diff(self.starts) > 0)):
            yield int(cell), rows[bounds[cell] : bounds[cell + 1]]
