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

from myriad.parallel import Team
from myriad.products import add_product
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.chunks import Chunk, read_chunks
from myriad.training.columns import STATE, begin_epoch, drawn_share, make_columns
from myriad.training.one_vs_rest_kernels import add_rows, fold_scales, step_block, step_sampled
from myriad.training.settings import Setting
from myriad.training.steps import FIXED, Schedule
from myriad.training.trainer import BLOCK, Trainer, class_shards

SHARD = 128
"""Classes that one thread steps through a chunk at a time."""
SAMPLED_BELOW = 1 / 6
"""Below this share of drawn pairs, single dot products beat the product of all (measured)."""
DENSE_UPDATE_ABOVE = 1 / 8
"""Above this share of coefficients that are not zero, a product beats adding rows (measured)."""


class OneVsRest(Trainer):
    """The weights and states of all columns while they are trained.

    Parameters
    ----------
    settings : one or several; class c under setting s is column ``s * n_classes + c``.
    counts : int64 array of shape (n_classes,), training rows of each class.
    dim : number of features.
    bias_rate : the step of the bias as a part of `eta`.
    loss : number of the binary loss.
    schedule : how steps shrink.
    dtype : of weights and scores; float64 is for tests.
    block : rows whose scores come from one product.
    sampled : whether only drawn rows are multiplied; None lets the share of draws decide.
    """

    _changing = ("V", "states")

    def __init__(
        self,
        settings: Sequence[Setting],
        counts: NDArray[np.int64],
        dim: int,
        *,
        bias_rate: float,
        loss: int,
        schedule: Schedule = FIXED,
        dtype: Any = np.float32,
        block: int = BLOCK,
        sampled: bool | None = None,
    ) -> None:
        self.settings = list(settings)
        self.n_classes = len(counts)
        self.loss = loss
        self.block = block
        self.columns = make_columns(settings, counts, bias_rate=bias_rate, schedule=schedule)
        self.states = np.zeros(len(self.columns), STATE)
        self.states["sigma"] = 1.0
        self.V = np.zeros((len(self.columns), dim), dtype)
        self._sampled = sampled

    def scales(self) -> NDArray[np.float64]:
        """Return the scale of each row of V."""
        return self.states["sigma"]

    def biases(self) -> NDArray[np.float64]:
        """Return the bias of each row of V."""
        return self.states["bias"]

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        columns = self.rows_of(numbers)
        self.settings = [self.settings[n] for n in numbers]
        self.V = self.V[columns]
        self.columns, self.states = self.columns[columns], self.states[columns]

    def _pass(self, rows: Rows, *, seed: int, team: Team, advance: Advance) -> None:
        begin_epoch(self.columns, self.states, np.uint64(seed), np.uint64(self.epoch))
        dense, sampled = self._shards()
        for chunk in read_chunks(
            rows,
            block=self.block,
            seed=seed,
            epoch=self.epoch,
            with_grams=bool(dense),
            dtype=self.V.dtype,
            team=team,
        ):
            places = sort_by_class(chunk.labels, self.n_classes) if sampled else None
            walk = partial(self._walk, chunk=chunk, places=places)
            team.share(walk, [(shard, False) for shard in dense] + [(s, True) for s in sampled])
            advance(len(chunk.X))

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

    @np.errstate(over="ignore", invalid="ignore")
    def _walk(self, piece: tuple[slice, bool], *, chunk: Chunk, places: Any) -> None:
        shard, sampled = piece
        if sampled:
            self._walk_sampled(shard, chunk, *places)
        else:
            self._walk_dense(shard, chunk)

    def _walk_dense(self, shard: slice, chunk: Chunk) -> None:
        V, columns, states = self.V[shard], self.columns[shard], self.states[shard]
        for gram, part in zip(chunk.grams, chunk.blocks(self.block), strict=True):
            X = chunk.X[part]
            S = V @ X.T
            A = np.empty_like(S)
            start = chunk.start + part.start
            n_steps = step_block(gram, chunk.labels[part], columns, S, A, states, start, self.loss)
            if n_steps > DENSE_UPDATE_ABOVE * A.size:
                add_product(A, X, V)
            elif n_steps:
                add_rows(A, X, V)
            fold_scales(V, states)

    def _walk_sampled(
        self, shard: slice, chunk: Chunk, by_class: NDArray[np.int64], first: NDArray[np.int64]
    ) -> None:
        step_sampled(
            chunk.X,
            by_class,
            first,
            self.columns[shard],
            self.V[shard],
            self.states[shard],
            chunk.start,
            self.loss,
        )


def sort_by_class(
    labels: NDArray[np.int32], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows sorted by class, and where each class begins among them."""
    by_class = np.argsort(labels, kind="stable")
    return by_class, np.searchsorted(labels[by_class], np.arange(n_classes + 1))
