"""Sparse storage of dual variables: for each row, the classes whose variable is not zero.

Only a few of a row's C variables are not zero, so the memory grows with these and not with rows x
classes. All rows are stored in one pool: a row that grows moves to the end of the pool, which is
packed again before it would overflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.training.dual.sparse_duals_kernels import (
    DualTable,
    SparseBlock,
    copy_rows,
    load_rows,
    store_rows,
)

SPARE = 1.25


class SparseDuals:
    """Nonnegative float64 variables of shape (n_rows, n_classes), most of them zero.

    Attributes
    ----------
    starts, counts, capacities : position of each row in the pool, its number of entries, and how
        many fit there.
    classes, values : the pool: int32 and float64, ascending in class within a row.
    """

    def __init__(self, n_rows: int) -> None:
        self.starts = np.zeros(n_rows, np.int64)
        self.counts = np.zeros(n_rows, np.int32)
        self.capacities = np.zeros(n_rows, np.int32)
        self.classes = np.zeros(0, np.int32)
        self.values = np.zeros(0, np.float64)
        self._end = 0

    @property
    def n_nonzero(self) -> int:
        """The number of variables that are not zero."""
        return int(self.counts.sum())

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        arrays = (self.starts, self.counts, self.capacities, self.classes, self.values)
        return sum(array.nbytes for array in arrays)

    def load(self, index: NDArray[np.int64], block: SparseBlock) -> None:
        """Copy some rows, int64 of shape (B,), into a block, which is changed in place."""
        load_rows(index, self.table(), block)

    def store(self, index: NDArray[np.int64], block: SparseBlock) -> None:
        """Replace some rows by those of a block; the reverse of `load`."""
        counts = block.counts
        total = int(counts.sum())
        if self._end + total > len(self.classes):  # there may be too little room
            needed = int(counts[counts > self.capacities[index]].sum())
            if self._end + needed > len(self.classes):
                self._pack(total)  # capacities become counts, so that all rows may have to move
        self._end = store_rows(index, block, self.table(), self.capacities, self._end)

    def table(self) -> DualTable:
        """Return starts, counts, classes and values, as kernels take them."""
        return DualTable(self.starts, self.counts, self.classes, self.values)

    def scale(self, factor: float) -> None:
        """Multiply all variables by a number."""
        self.values *= factor

    def restore(
        self,
        starts: NDArray[np.int64],
        counts: NDArray[np.int32],
        classes: NDArray[np.int32],
        values: NDArray[np.float64],
    ) -> None:
        """Restore the arrays that `table` returned, as copies."""
        self.starts, self.counts, self.capacities = starts.copy(), counts.copy(), counts.copy()
        self.classes, self.values = classes.copy(), values.copy()
        self._end = len(classes)

    def _pack(self, needed: int) -> None:
        size = int(SPARE * (self.n_nonzero + needed)) + 1024
        # Zeros, since `scale` multiplies the whole pool, also what no row uses yet.
        classes, values = np.zeros(size, np.int32), np.zeros(size, np.float64)
        starts = np.cumsum(self.counts, dtype=np.int64) - self.counts
        copy_rows(self.table(), DualTable(starts, self.counts, classes, values))
        self.starts, self.capacities = starts, self.counts.copy()
        self.classes, self.values = classes, values
        self._end = self.n_nonzero
