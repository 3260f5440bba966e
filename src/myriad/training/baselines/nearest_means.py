"""Nearest class means: the first baseline, learned in one pass and with nothing to tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from myriad.arrays import Float
from myriad.errors import WorkError
from myriad.measures import LabelSets
from myriad.models import LinearModel
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Block, Rows
from myriad.training.baselines.mean_kernels import add_rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.method import Fitted, Method, MethodSpec

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
        sets = rows.sets if rows.sets is not None else LabelSets.from_labels(rows.labels)
        size = max(1, min(1024, BLOCK_BYTES // (4 * rows.dim)))
        with progress.step("Adding up classes", rows.n_rows, "rows") as advance:
            for block in rows.blocks(size):
                self._add_block(block, sets.select(block.index), rows.weights, pool)
                advance(len(block.X))

    def _add_block(
        self, block: Block, sets: LabelSets, weights: Float | None, pool: ThreadPool
    ) -> None:
        counted = np.ones(len(block.X)) if weights is None else weights[block.index].astype(float)

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


@dataclass(frozen=True, kw_only=True)
class Means(Method):
    """The class whose mean is nearest [HM: P_g the class mean, V = I]; nothing to tune."""

    objective: str = "means"

    @property
    def is_open(self) -> bool:
        """Nothing is searched."""
        return False

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
    ) -> Fitted:
        """Learn the means in one pass, which is too short to be kept on the way."""
        sums = ClassSums(n_classes, train.dim)
        with open_threads(threads) as pool:
            sums.add(train, pool=pool, progress=progress)
        return Fitted(sums.to_model(), {}, 1)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method itself."""
        return self


MEANS_METHOD = MethodSpec(Means, {})
