"""Class means, learned in one pass over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit
from myriad.errors import WorkError
from myriad.measures import LabelSets
from myriad.models import LinearModel
from myriad.parallel import ThreadPool
from myriad.progress import SILENT, Progress
from myriad.store import Block, Rows

BLOCK_BYTES = 16 << 20
FEATURES = 256
"""Features that a thread adds at a time."""
NEVER = np.finfo(np.float32).min
"""The bias of a class without rows: it is ranked after all that have some."""


class ClassSums:
    """Sums of the rows of each class, to which more rows can be added.

    Sums are kept in float64 and every feature is added in the order of the rows, so that the bits
    depend on the rows alone.

    Attributes
    ----------
    sums : float64 array of shape (n_classes, n_features)
    counts : float64 array of shape (n_classes,), rows of each class by their weights.
    """

    def __init__(self, n_classes: int, dim: int) -> None:
        self.sums = np.zeros((n_classes, dim), np.float64)
        self.counts = np.zeros(n_classes, np.float64)

    def add(self, rows: Rows, *, pool: ThreadPool, progress: Progress = SILENT) -> None:
        """Add all rows; one of several classes counts in each, one of none nowhere."""
        sets, weights = rows.all_labels, rows.weights
        size = max(1, min(1024, BLOCK_BYTES // (4 * rows.dim)))
        with progress.step("Computing class means", rows.n_rows, "rows") as advance:
            for block in rows.blocks(size):
                counted = np.ones(len(block.X))
                if weights is not None:
                    counted = weights[block.index].astype(float)
                self.add_block(block, sets.select(block.index), counted, pool)
                advance(len(block.X))

    def add_block(
        self, block: Block, sets: LabelSets, counted: NDArray[np.float64], pool: ThreadPool
    ) -> None:
        """Add a block of rows, each counted as often as its weight says."""

        def add(start: int) -> None:
            some = slice(start, start + FEATURES)
            add_rows(block.X[:, some], sets.starts, sets.classes, counted, self.sums[:, some])

        pool.share(add, range(0, self.sums.shape[1], FEATURES))
        self.counts += np.bincount(
            sets.classes, weights=np.repeat(counted, sets.sizes), minlength=len(self.counts)
        )

    def to_model(self) -> LinearModel:
        """Return the linear model that ranks classes by the distance of a row to their means.

        ``-|x - mu|^2`` is ``2 mu . x - |mu|^2`` but for what all classes share. Rows and means are
        taken from the mean of all means, which changes no distance, so that float32 does not lose
        small differences of large numbers.
        """
        seen = self.counts > 0
        means = self.sums[seen] / self.counts[seen, None]
        centre = means.mean(axis=0)
        away = means - centre
        W = np.zeros(self.sums.shape, np.float32)
        b = np.full(len(seen), NEVER, np.float32)
        with np.errstate(over="ignore"):
            W[seen] = 2 * away
            b[seen] = -np.einsum("ij,ij->i", away, away) - 2 * (away @ centre)
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise WorkError("The rows are too large for class means in float32. Scale them down.")
        return LinearModel(W, b)


@jit
def add_rows(X, starts, classes, weights, sums):
    """Add every row to the sum of each of its classes, in the order of the rows.

    Features are independent of each other, so a range of them may be added by any thread.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    starts, classes : int64 (m + 1,) and int32, the classes of each row, see `LabelSets`.
    weights : float64 array of shape (m,), how much each row counts.
    sums : float64 array of shape (n_classes, n_features), changed in place.
    """
    for i in range(X.shape[0]):
        for position in range(starts[i], starts[i + 1]):
            c = classes[position]
            for j in range(X.shape[1]):
                sums[c, j] += weights[i] * X[i, j]
