"""Mini-batch SGD: a step for B rows, along the mean of their gradients at the same weights [LS].

``W <- (1 - eta lam) W - eta/B sum_i grad loss_i(W)`` for one-vs-rest and all joint objectives. With
B = 1 these are the steps row by row, but for one-vs-rest with decay or a schedule: there, the
classes of a batch have one count of steps, not one each. With all rows it is gradient descent.

A batch of at most `MOST` rows is scored by one product and changes the weights by another. The
gradient of a larger one is summed up first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives import JOINT_OBJECTIVES
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.training.engine.chunks import CHUNK_ROWS, Chunk, ChunkLayout
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.engine.scores import SHARD, score_block, share
from myriad.training.engine.shards import class_shards
from myriad.training.engine.steps import learning_rate
from myriad.training.engine.targets import RowLabels, sort_by_class
from myriad.training.optimiser import FIXED, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.batch_kernels import find_binary_coefficients, find_joint_coefficients
from myriad.training.sgd.class_columns import STATE as COLUMN_STATE
from myriad.training.sgd.class_columns import begin_epoch as begin_columns
from myriad.training.sgd.class_columns import make_columns
from myriad.training.sgd.joint import make_harmonic, make_records
from myriad.training.sgd.joint_kernels import CLASS_STATE, STATE, ClassMemory, begin_epoch
from myriad.training.sgd.method import WarpOptions

MOST = CHUNK_ROWS
"""Rows whose scores come from one product."""


class BatchTrainer(LinearTrainer):
    """The base class of the trainers in mini-batches.

    Parameters
    ----------
    settings : one or several; class c under setting s is row ``s * n_classes + c`` of V.
    n_classes, dim : the shape of the weights.
    batch : rows of a step.
    bias_rate : the learning rate of the bias as a fraction of `eta`.
    schedule : how the learning rate shrinks, with the number of batches.
    """

    _changing: tuple[str, ...] = ("V", "_biases", "_steps")

    def __init__(
        self,
        settings: Sequence[Setting],
        n_classes: int,
        dim: int,
        *,
        batch: int,
        bias_rate: float,
        schedule: Schedule = FIXED,
        dtype: Any = np.float32,
        **more: Any,
    ) -> None:
        super().__init__(settings, n_classes, dim, dtype=dtype, block=min(batch, MOST), **more)
        self.batch, self.bias_rate, self.schedule = batch, bias_rate, schedule
        self._biases = np.zeros((len(self.settings), n_classes))
        self._steps = np.zeros(len(self.settings), np.int64)
        # Gradient sums of a batch that is larger than a block, and their number of rows.
        self._sums = np.zeros(self.V.shape if batch > MOST else (0, 0), dtype)
        self._bias_sums = np.zeros_like(self._biases)
        self._n_summed = np.zeros(len(self.settings), np.int64)

    @abstractmethod
    def _find_coefficients(
        self, number: int, chunk: Chunk, block: slice, S: NDArray[Any], A: NDArray[Any]
    ) -> None:
        """Write the coefficients of a block's rows to `A`, given their products `S`; same shape."""

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V: weights are stored as they are."""
        return np.ones(len(self.V))

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self._biases.ravel()

    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        self._biases[...] = biases.reshape(self._biases.shape)

    def _compute_norms(self) -> None:
        pass  # norms are not bounded

    def _averages(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        raise NotImplementedError  # weights are not averaged

    def _reset_averages(self) -> None:
        raise NotImplementedError

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        chosen = list(numbers)
        if self._sums.size:
            self._sums = self._sums[self.rows_of(numbers)]
        for name in ("_biases", "_steps", "_bias_sums", "_n_summed"):
            setattr(self, name, getattr(self, name)[chosen])
        super().keep(numbers)

    @property
    def _layout(self) -> ChunkLayout:
        return ChunkLayout(self.block, grams=False)

    def _train_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        if len(self.settings) == 1:
            self._train_setting(0, chunk, pool)
        else:
            pool.share(lambda n: self._train_setting(n, chunk, None), range(len(self.settings)))

    @np.errstate(over="ignore", invalid="ignore")
    def _train_setting(self, number: int, chunk: Chunk, pool: ThreadPool | None) -> None:
        """Train one setting on a chunk; threads share the products."""
        V = self._stored(number)[0]
        A = np.empty((self.block, self.n_classes), V.dtype)
        start = 0
        while start < len(chunk.X):
            # Chunks hold whole blocks: only the last batch of an epoch is shorter than a block.
            left = self.batch - int(self._n_summed[number])
            block = slice(start, min(start + min(self.block, left), len(chunk.X)))
            X, a = chunk.X[block], A[: block.stop - block.start]
            self._find_coefficients(number, chunk, block, score_block(X, V, pool), a)
            start = block.stop
            if self.batch <= MOST:
                eta = self._decay(number)
                a *= eta / len(X)
                self._biases[number] += self.bias_rate * a.sum(axis=0, dtype=np.float64)
                self._add(a, X, V, pool)
                continue
            self._bias_sums[number] += a.sum(axis=0, dtype=np.float64)
            self._add(a, X, self._sums[self.stored_rows(number)], pool)
            self._n_summed[number] += len(X)
            if self._n_summed[number] == self.batch:
                self._step(number)

    def _decay(self, number: int) -> float:
        """Count a step and decay the weights of a setting; return the learning rate."""
        setting, V = self.settings[number], self._stored(number)[0]
        t, delay = self._steps[number], self.schedule.delay(setting)
        eta = float(learning_rate(self.schedule.number, setting.eta, setting.lam, t, delay))
        self._steps[number] += 1
        if setting.lam > 0.0:
            V *= V.dtype.type(1.0 - eta * setting.lam)
        return eta

    def _add(self, a: NDArray[Any], X: NDArray[Any], V: NDArray[Any], pool: Any) -> None:
        """Add the product of coefficients and rows to weights or sums."""
        shards = class_shards(self.n_classes, SHARD)
        share(pool, lambda shard: add_product(a[:, shard].T, X, V[shard]), shards)

    def _step(self, number: int) -> None:
        """Make the step of a batch larger than a block, and reset the gradient sums."""
        eta, own = self._decay(number), self.stored_rows(number)
        scale = eta / self._n_summed[number]
        self.V[own] += self.V.dtype.type(scale) * self._sums[own]
        self._biases[number] += self.bias_rate * scale * self._bias_sums[number]
        self._sums[own], self._bias_sums[number], self._n_summed[number] = 0.0, 0.0, 0

    def _end_epoch(self) -> None:
        for number in np.flatnonzero(self._n_summed):
            self._step(int(number))


class JointBatches(BatchTrainer):
    """A joint objective in mini-batches.

    Parameters
    ----------
    objective : one of `JOINT_OBJECTIVES`.
    warp, k : options of the objectives ``warp`` and ``softmax``, see `Joint`.
    more : see `BatchTrainer`.
    """

    _changing = (*BatchTrainer._changing, "_last")

    def __init__(
        self,
        settings: Sequence[Setting],
        n_classes: int,
        dim: int,
        *,
        objective: str,
        warp: WarpOptions | None = None,
        k: int = 1,
        **more: Any,
    ) -> None:
        super().__init__(settings, n_classes, dim, **more)
        self._last = np.full((len(self.settings), n_classes), -1, np.int64)
        self._record = make_records(1, JOINT_OBJECTIVES[objective], warp, n_classes, k)
        self._states, self._harmonic = np.zeros(1, STATE), make_harmonic(n_classes)
        self._class_states = np.zeros(n_classes, CLASS_STATE)

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        self._last = self._last[list(numbers)]
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_epoch(self._states, np.uint64(seed), np.uint64(self.epoch))

    def _find_coefficients(
        self, number: int, chunk: Chunk, block: slice, S: NDArray[Any], A: NDArray[Any]
    ) -> None:
        memory = ClassMemory(self._biases[number], self._last[number], self._class_states)
        find_joint_coefficients(
            RowLabels(chunk.targets[block], chunk.classes),
            S,
            memory,
            self._harmonic,
            self._record,
            self._states[0]["key"],
            A,
        )


class BinaryBatches(BatchTrainer):
    """One-vs-rest in mini-batches: the mean is over all rows of a batch, drawn or not.

    Parameters
    ----------
    settings, counts, dim, loss, n_rows : see `OneVsRest`.
    more : see `BatchTrainer`.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        counts: NDArray[np.int64],
        dim: int,
        *,
        loss: int,
        n_rows: int | None = None,
        **more: Any,
    ) -> None:
        super().__init__(settings, len(counts), dim, **more)
        self.loss, self.unseen = loss, counts == 0
        self._columns = make_columns(
            settings, counts, n_rows=n_rows, dim=dim, bias_rate=self.bias_rate
        )
        self._draws = np.zeros(len(self._columns), COLUMN_STATE)

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        rows = self.rows_of(numbers)
        self._columns, self._draws = self._columns[rows], self._draws[rows]
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_columns(self._columns, self._draws, np.uint64(seed), np.uint64(self.epoch))

    def _train_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        labelled = chunk.targets, chunk.classes
        self._own_rows = sort_by_class(*labelled, chunk.start, self.n_classes)
        super()._train_chunk(chunk, views, pool)

    def _find_coefficients(
        self, number: int, chunk: Chunk, block: slice, S: NDArray[Any], A: NDArray[Any]
    ) -> None:
        own, start = self.stored_rows(number), chunk.start + block.start
        self._draws["bias"][own] = self._biases[number]
        find_binary_coefficients(
            chunk.targets[block],
            self._own_rows,
            self._columns[own],
            self._draws[own],
            S,
            self.loss,
            start,
            A,
        )
