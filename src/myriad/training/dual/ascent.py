"""Dual coordinate ascent with a certificate: train until the duality gap is small.

The primal value of the weights is at least, and the dual value of the variables at most, the
optimum; their difference, the gap, bounds how far the weights are from it. Both are computed from
the variables alone, in float64, so that no rounding of the training enters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.engine.chunks import Chunk, ChunkLayout, read_chunks
from myriad.training.validation import ModelRanker

RANGE_BYTES = 8 << 20
"""Bytes of features or scores, in float64, that a certificate holds at a time."""


@dataclass(frozen=True)
class Certificate:
    """Primal and dual values of independent problems: one per class for one-vs-rest, else one.

    Attributes
    ----------
    primals, duals : float64 arrays of shape (n_problems,).
    """

    primals: NDArray[np.float64]
    duals: NDArray[np.float64]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The relative gap of each problem; 0 where rounding makes it negative."""
        size = np.maximum(np.abs(self.primals), np.abs(self.duals))
        gaps = (self.primals - self.duals) / np.maximum(size, np.finfo(np.float64).tiny)
        return np.maximum(gaps, 0.0)

    @property
    def gap(self) -> float:
        """The largest of the gaps."""
        return float(self.gaps.max())

    def to_json(self) -> dict[str, float]:
        """Return the values summed over problems, and the largest gap."""
        primal, dual = float(self.primals.sum()), float(self.duals.sum())
        return {"primal": primal, "dual": dual, "gap": self.gap}


class DualTrainer(ABC):
    """Trainer of dual variables, in this process or in class shards; the base class.

    Attributes
    ----------
    rows : the rows that the variables belong to.
    n_classes : number of classes, at least two.
    lam : regularisation strength.
    epoch : number of epochs finished.
    certificate : the last certificate computed.
    estimates : whether epochs estimate the gap.
    estimate : the relative gap that the last epoch estimated, or None.
    """

    rows: Rows
    n_classes: int
    lam: float
    epoch: int
    certificate: Certificate
    estimates = False
    estimate: float | None = None

    @abstractmethod
    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch on the trainer's own rows, in the order of the seed."""

    def certify(self, pool: ThreadPool) -> Certificate:
        """Compute weights and certificate from the variables, and keep both; return the latter."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.certificate = self._certify(pool)
        return self.certificate

    @abstractmethod
    def _certify(self, pool: ThreadPool) -> Certificate:
        """Set the weights to those of the variables; return the primal and dual values."""

    @abstractmethod
    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""

    @abstractmethod
    def change_lam(self, lam: float) -> None:
        """Continue with another `lam` from the current variables, or from a multiple of them."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays for a checkpoint; to be called after `certify`."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned; `certify` then computes the weights."""

    def model(self) -> LinearModel:
        """Return the linear model of the certified weights."""
        W, b = self.weights()
        return LinearModel(W.astype(np.float32, copy=False), b.astype(np.float32, copy=False))

    def rank(self, rows: Rows, *, pool: ThreadPool) -> NDArray[np.int32]:
        """Return the ranks of the true labels of held-out rows, of shape (1, n_rows)."""
        return ModelRanker(self.model()).rank(rows, pool=pool)


class Ascent(DualTrainer):
    """Trainer of dual variables in this process; the base class.

    Attributes
    ----------
    duals : the variables.
    block : rows whose scores come from one product.
    width : values per row that a certificate has in memory at a time.
    """

    def __init__(self, rows: Rows, n_classes: int, *, lam: float, dtype: Any, block: int) -> None:
        self.rows = rows
        self.n_classes = n_classes
        self.lam = lam
        self.dtype = np.dtype(dtype)
        self.block = block
        self.duals = SparseDuals(rows.n_rows)
        self.epoch = 0
        self.width = max(rows.dim, n_classes)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch on the trainer's own rows, in the order of the seed."""
        for chunk in read_chunks(
            self.rows,
            layout=ChunkLayout(self.block, grams=self._with_grams()),
            seed=seed,
            epoch=self.epoch,
            dtype=self.dtype,
            pool=pool,
            with_targets=False,
        ):
            self._step_chunk(chunk, pool)
            advance(len(chunk.X))
        self.epoch += 1

    def sum_ranges(
        self, function: Callable[[NDArray[Any], range], NDArray[np.float64]], pool: ThreadPool
    ) -> NDArray[np.float64]:
        """Return the sum of a function of all rows, (m, dim), a range of them at a time.

        Neither the ranges nor the order of the sum depend on the number of threads.
        """
        size = max(1, min(1024, RANGE_BYTES // (8 * self.width)))
        starts = range(0, self.rows.n_rows, size)
        ranges = [range(start, min(start + size, self.rows.n_rows)) for start in starts]
        results: list[Any] = [None] * len(ranges)

        def work(number: int) -> None:
            results[number] = function(self.rows.read(ranges[number]), ranges[number])

        pool.share(work, range(len(ranges)))
        return np.sum(results, axis=0)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the variables; see `DualTrainer.state`."""
        names = ("starts", "counts", "classes", "values")
        return dict(zip(names, self.duals.table(), strict=True))

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned; `certify` then computes the weights."""
        self.duals.restore(**arrays)

    def _with_grams(self) -> bool:
        return True

    @abstractmethod
    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        """Train on the rows of a chunk."""
