"""Prototypes in cells: the few cells nearest to a row are searched for its best classes.

Rows that look into the same cell are multiplied with its prototypes together: so a tile of rows
reads each cell once, and what is looked into costs no more than in exact search.
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
    """Prototypes in the order of their cells.

    Attributes
    ----------
    centres : float32 array of shape (n_cells, dim)
    offsets : float32 array of shape (n_cells,): cells are looked into by ``c z + offset_c``.
    starts : int64 array of shape (n_cells + 1,), where the classes of a cell begin.
    classes : int32 array of shape (n_classes,), cell by cell, rising within a cell.
    points : float32 array of shape (n_classes, dim), their prototypes.
    """

    centres: Float
    offsets: Float
    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    points: Float

    @classmethod
    def of(cls, points: Float, centres: Float, *, nearest: bool) -> Self:
        """Put prototypes into the cells of the centres they lie nearest to.

        Cells are looked into by the distance of their centre if `nearest`, else by its product.
        """
        halves = np.float32(-0.5) * np.einsum("cd,cd->c", centres, centres)
        cell = np.empty(len(points), np.int64)
        for start in range(0, len(points), ASSIGNED_ROWS):
            part = slice(start, start + ASSIGNED_ROWS)
            cell[part] = (points[part] @ centres.T + halves).argmax(axis=1)
        order = np.argsort(cell, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(centres)))])
        offsets = halves if nearest else np.zeros_like(halves)
        return cls(centres, offsets, starts, order.astype(np.int32), points[order])

    def near(self, Z: Float) -> Float:
        """Return how soon each cell is looked into for embedded rows, the largest first."""
        closeness: Float = Z @ self.centres.T
        closeness += self.offsets
        return closeness

    def find_cells(self) -> NDArray[np.int64]:
        """Return the cell of each class."""
        cells = np.empty(len(self.classes), np.int64)
        cells[self.classes] = np.repeat(np.arange(len(self.centres)), np.diff(self.starts))
        return cells

    def count_probes(self, Z: Float, wanted: NDArray[np.int32], part: float) -> int:
        """Return how many cells must be looked into to find a part of the classes `wanted`.

        Parameters
        ----------
        wanted : int32 array of shape (n_samples, k), classes of the rows.
        """
        closeness = self.near(Z)
        order = np.argsort(-closeness, axis=1, kind="stable")
        places = np.empty_like(order)
        np.put_along_axis(places, order, np.arange(len(self.centres))[None], axis=1)
        needed = np.sort(np.take_along_axis(places, self.find_cells()[wanted], axis=1), axis=None)
        if len(needed) == 0:
            return 1
        return int(needed[min(len(needed) - 1, int(np.ceil(part * len(needed))) - 1)]) + 1

    def search(
        self, Z: Float, offsets: Float, scale: float, probes: int,
        labels: NDArray[np.int32], best: Float,
    ) -> None:  # fmt: skip
        """Take the classes of the nearest cells into the best of a tile of rows.

        Scores are ``scale P_c z + offset_c``, the offsets being those of the classes. Changes
        `labels` and `best`; see `ranking.merge_top`.
        """
        scaled = np.float32(scale) * Z
        for cell, rows in self._visits(Z, probes):
            part = slice(self.starts[cell], self.starts[cell + 1])
            products = scaled[rows] @ self.points[part].T
            classes = self.classes[part]
            merge_cell(products, offsets[classes], classes, rows, labels, best)

    def _visits(self, Z: Float, probes: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield the cells that hold classes and are looked into, and the rows that do."""
        n_cells = len(self.centres)
        if probes < n_cells:
            chosen = np.argpartition(-self.near(Z), probes - 1, axis=1)[:, :probes]
        else:
            chosen = np.broadcast_to(np.arange(n_cells), (len(Z), n_cells))
        cells = chosen.astype(np.uint16 if n_cells < 1 << 16 else np.int64).ravel()
        order = np.argsort(cells, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n_cells))])
        rows = order // chosen.shape[1]
        for cell in np.flatnonzero((np.diff(bounds) > 0) & (np.diff(self.starts) > 0)):
            yield int(cell), rows[bounds[cell] : bounds[cell + 1]]
