"""Weighted one-vs-rest by SGD, every class and every setting at once [GP, 3.2, 4].

The classes of a setting are cut into shards whose boundaries depend only on their number; threads
take shards. So the weights are the same, bit for bit, on any number of threads, and whether a
setting is trained alone or together with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.parallel import ThreadPool
from myriad.parallel.work_queue import make_queue
from myriad.training.engine.chunks import Chunk, ChunkLayout
from myriad.training.engine.linear_trainer import (
    SMALL_BLOCK,
    UNSEEN_BIAS,
    LinearTrainer,
    class_shards,
)
from myriad.training.engine.targets import sort_by_class
from myriad.training.schedules import FIXED, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.class_columns import STATE, begin_epoch, drawn_share, make_columns
from myriad.training.sgd.one_vs_rest_kernels import (
    await_shards,
    step_sampled,
    walk_dense,
    walk_shards,
)

SHARD = 48
"""Classes that one thread steps through a chunk at a time: whole tiles."""
SAMPLED_BELOW = 1 / 6
"""Below this share of drawn pairs, single dot products beat the product of all (measured)."""


class OneVsRest(LinearTrainer):
    """The weights and states of all columns while they are trained.

    Parameters
    ----------
    settings : one or several; class c under setting s is column ``s * n_classes + c``.
    counts : int64 array of shape (n_classes,), training rows of each class.
    dim : number of features.
    bias_rate : the step of the bias as a part of `eta`.
    loss : number of the binary loss.
    n_rows : number of training rows, by default one for each of `counts`.
    schedule : how steps shrink.
    sampled : whether only drawn rows are multiplied; None lets the share of draws decide.
    more : see `LinearTrainer`.
    """

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
        block: int = SMALL_BLOCK,
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

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""
        return self.states["sigma"]

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self.states["bias"]

    def _set_biases(self, biases: NDArray[np.float64]) -> None:
        self.states["bias"] = np.where(biases > UNSEEN_BIAS, biases, 0.0)

    def _take_norms(self) -> None:
        self.states["square"] = np.einsum("ij,ij->i", self.V, self.V, dtype=np.float64)

    def _averages(self, part: slice) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        states = self.states[part]
        return states["scales"], states["bias_sum"], states["window"]

    def _begin_window(self) -> None:
        for name in ("scales", "bias_sum", "window"):
            self.states[name] = 0

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        columns = self.rows_of(numbers)
        self.columns, self.states = self.columns[columns], self.states[columns]
        super().keep(numbers)

    def _begin_epoch(self, seed: int) -> None:
        begin_epoch(self.columns, self.states, np.uint64(seed), np.uint64(self.epoch))
        self._cut = self._shards()

    @property
    def _layout(self) -> ChunkLayout:
        return ChunkLayout(self.block, grams=bool(self._cut[0]))

    def _walk_chunk(self, chunk: Chunk, views: list[Chunk], pool: ThreadPool) -> None:
        dense, sampled = self._cut
        places = sort_by_class(chunk.targets, chunk.classes, chunk.start, self.n_classes)
        if self.rates is None and dense:  # all settings see the same rows
            self._walk_shards(dense, chunk, places, pool)
            dense = []
        pieces = [(shard, False) for shard in dense] + [(shard, True) for shard in sampled]
        energies = np.zeros((len(pieces), len(chunk.X)))

        @np.errstate(over="ignore", invalid="ignore")
        def walk(number: int) -> None:
            shard, few = pieces[number]
            view = views[shard.start // self.n_classes]
            targets = view.targets.copy()  # each walk adds up its own energy
            step = self._walk_sampled if few else self._walk_dense
            step(shard, view, targets, places)
            energies[number] = targets["energy"]

        pool.share(walk, range(len(pieces)))
        if self.rates is not None:
            for (shard, _), energy in zip(pieces, energies, strict=True):
                views[shard.start // self.n_classes].targets["energy"] += energy

    @np.errstate(over="ignore", invalid="ignore")
    def _walk_shards(
        self, shards: list[slice], chunk: Chunk, places: Any, pool: ThreadPool
    ) -> None:
        """Step some shards through a chunk; threads take them from a board."""
        assert chunk.products is not None
        queue = make_queue(len(shards))
        walk = partial(
            walk_shards,
            (chunk.X, chunk.products.panels, chunk.products.grams),
            places,
            self.columns,
            self.loss,
            chunk.targets,
            (self.V, self.Q),
            self.states,
            np.array([(shard.start, shard.stop) for shard in shards]),
            (chunk.start, self.block),
            queue,
        )
        with pool.assisted(walk, lambda: None):
            walk()
            await_shards(queue)

    def _shards(self) -> tuple[list[slice], list[slice]]:
        """Return the shards that score every row, and those that score the drawn rows only."""
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

    def _walk_dense(self, shard: slice, chunk: Chunk, targets: NDArray[Any], places: Any) -> None:
        assert chunk.products is not None
        walk_dense(
            (chunk.X, chunk.products.panels, chunk.products.grams),
            places,
            self.columns[shard],
            self.loss,
            targets,
            (self.V[shard], self.Q[shard] if self.Q.size else self.Q),
            self.states[shard],
            chunk.start,
            self.block,
        )

    def _walk_sampled(self, shard: slice, chunk: Chunk, targets: NDArray[Any], places: Any) -> None:
        step_sampled(
            chunk.X,
            places,
            self.columns[shard],
            self.V[shard],
            self.Q[shard] if self.Q.size else self.Q,
            self.states[shard],
            targets,
            chunk.start,
            self.loss,
        )
