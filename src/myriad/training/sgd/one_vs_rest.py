"""Weighted one-vs-rest by SGD, every class and every setting at once [GP, 3.2, 4].

The classes of a setting are cut into shards whose bounds depend only on their number; threads take
shards. So the weights are the same, bit for bit, on any number of threads, and whether a setting is
trained alone or side by side with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.parallel import ThreadPool
from myriad.parallel.work_queue import make_queue
from myriad.training.engine.chunks import Chunk, ChunkLayout, EpochCost
from myriad.training.engine.linear_trainer import UNSEEN_BIAS, LinearTrainer
from myriad.training.engine.shards import class_shards
from myriad.training.engine.steps import StoredWeights
from myriad.training.engine.targets import BlockedRows, ClassPositions, sort_by_class
from myriad.training.optimiser import FIXED, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.class_columns import STATE, begin_epoch, drawn_share, make_columns
from myriad.training.sgd.one_vs_rest_kernels import (
    ChunkShards,
    step_dense,
    step_dense_shards,
    step_sampled,
    wait_for_shards,
)

SHARD = 48
"""Classes that one thread trains on a chunk at a time: whole tiles."""
SAMPLED_BELOW = 1 / 6
"""Share of (row, class) pairs drawn below which single dot products are faster than the product of
all rows and classes (measured)."""


class OneVsRest(LinearTrainer):
    """Trainer of one-vs-rest: the weights and states of all columns.

    Parameters
    ----------
    settings : one or several; class c under setting s is column ``s * n_classes + c``.
    counts : int64 array of shape (n_classes,), training rows of each class.
    dim : number of features.
    bias_rate : the learning rate of the bias as a fraction of `eta`.
    loss : number of the binary loss.
    n_rows : number of training rows, by default one for each of `counts`.
    schedule : how the learning rate shrinks.
    sampled : whether only drawn rows are multiplied; None lets the share of draws decide.
    more : see `LinearTrainer`.
    """

    BLOCK = 64
    """Rows whose scores come from one product: few weights change, and the Gram matrices of larger
    blocks would cost more (measured)."""

    _changing = ("V", "Q", "states")

    def __init__(
        self,
        settings: Sequence[Setting],
        counts: NDArray[np.int64],
        dim: int,
        *,
        bias_rate: float,
        loss: int,
        n_rows: int | None = None,
        schedule: Schedule = FIXED,
        dtype: Any = np.float32,
        block: int = BLOCK,
        sampled: bool | None = None,
        **more: Any,
    ) -> None:
        super().__init__(settings, len(counts), dim, dtype=dtype, block=block, **more)
        self.loss = loss
        self.unseen = counts == 0
        self.columns = make_columns(
            settings,
            counts,
            n_rows=n_rows,
            dim=dim,
            bias_rate=bias_rate,
            schedule=schedule,
            optimiser=self.optimiser,
        )
        self.states = np.zeros(len(self.columns), STATE)
        self.states["sigma"] = 1.0
        self._sampled = sampled

    @classmethod
    def cost(cls, n_classes: int, dim: int, beta: float) -> EpochCost:
        """Return the cost of an epoch with this number of negatives per positive."""
        sampled = 1 + beta < SAMPLED_BELOW * n_classes
        layout = ChunkLayout(cls.BLOCK, grams=not sampled)
        compared = 1 + beta if sampled else float(n_classes)
        return EpochCost("sampled" if sampled else "dense", compared * dim, layout)

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""
        return self.states["sigma"]

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self.states["bias"]

    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        self.states["bias"] = np.where(biases > UNSEEN_BIAS, biases, 0.0)

    def _compute_norms(self) -> None:
        self.states["squared_norm"] = np.einsum("ij,ij->i", self.V, self.V, dtype=np.float64)

    def _averages(self, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        states = self.states[rows]
        return states["sigma_sum"], states["bias_sum"], states["n_averaged"]

    def _reset_averages(self) -> None:
        for name in ("sigma_sum", "bias_sum", "n_averaged"):
            self.states[name] = 0

    def keep(self, numbers: Sequence[int]) -> None:
        """Drop all settings but these."""
        columns = self.rows_of(numbers)
        self.columns, self.states = self.columns[columns], self.states[columns]
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_epoch(self.columns, self.states, np.uint64(seed), np.uint64(self.epoch))
        self._cut = self._shards()

    @property
    def _layout(self) -> ChunkLayout:
        return ChunkLayout(self.block, grams=bool(self._cut[0]))

    @np.errstate(over="ignore", invalid="ignore")
    def _train_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        dense, sampled = self._cut
        own_rows = sort_by_class(chunk.targets, chunk.classes, chunk.start, self.n_classes)
        if self.rates is None and dense:  # all settings see the same rows
            assert chunk.products is not None
            queue = make_queue(len(dense))
            train = partial(
                step_dense_shards,
                BlockedRows(chunk.X, chunk.products.panels, chunk.products.grams),
                own_rows,
                self.columns,
                self.loss,
                chunk.targets,
                StoredWeights(self.V, self.Q),
                self.states,
                ChunkShards(
                    np.array([(shard.start, shard.stop) for shard in dense]),
                    chunk.start,
                    self.block,
                ),
                queue,
            )
            with pool.assisted(train, lambda: None):  # threads take shards from the queue
                train()
                wait_for_shards(queue)
            dense = []
        if dense or sampled:
            self._train_shards(dense, sampled, views, own_rows, pool)

    def _train_shards(
        self,
        dense: list[slice],
        sampled: list[slice],
        views: list[Chunk],
        own_rows: ClassPositions,
        pool: ThreadPool,
    ) -> None:
        """Train shards on their own views of a chunk; each adds up its own squared gradients."""
        tasks = [(shard, False) for shard in dense] + [(shard, True) for shard in sampled]
        squared_gradients = np.zeros((len(tasks), len(views[0].X)))

        @np.errstate(over="ignore", invalid="ignore")
        def train(number: int) -> None:
            shard, few = tasks[number]
            view = views[shard.start // self.n_classes]
            targets = view.targets.copy()
            step = self._train_sampled if few else self._train_dense
            step(shard, view, targets, own_rows)
            squared_gradients[number] = targets["squared_gradient"]

        pool.share(train, range(len(tasks)))
        if self.rates is not None:
            for (shard, _), sums in zip(tasks, squared_gradients, strict=True):
                views[shard.start // self.n_classes].targets["squared_gradient"] += sums

    def _shards(self) -> tuple[list[slice], list[slice]]:
        """Return the shards that score every row, and those that score only the rows drawn."""
        dense: list[slice] = []
        sampled: list[slice] = []
        for first in range(0, len(self.columns), self.n_classes):
            share = drawn_share(self.columns[first : first + self.n_classes])
            few = share < SAMPLED_BELOW if self._sampled is None else self._sampled
            (sampled if few else dense).extend(
                slice(first + shard.start, first + shard.stop)
                for shard in class_shards(self.n_classes, SHARD)
            )
        return dense, sampled

    def _train_dense(
        self, shard: slice, chunk: Chunk, targets: NDArray[Any], own_rows: ClassPositions
    ) -> None:
        assert chunk.products is not None
        step_dense(
            BlockedRows(chunk.X, chunk.products.panels, chunk.products.grams),
            own_rows,
            self.columns[shard],
            self.loss,
            targets,
            StoredWeights(self.V[shard], self.Q[shard] if self.Q.size else self.Q),
            self.states[shard],
            chunk.start,
            self.block,
        )

    def _train_sampled(
        self, shard: slice, chunk: Chunk, targets: NDArray[Any], own_rows: ClassPositions
    ) -> None:
        step_sampled(
            chunk.X,
            own_rows,
            self.columns[shard],
            self.loss,
            targets,
            StoredWeights(self.V[shard], self.Q[shard] if self.Q.size else self.Q),
            self.states[shard],
            chunk.start,
        )
