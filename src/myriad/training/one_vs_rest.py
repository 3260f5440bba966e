"""Weighted one-vs-rest by SGD, every class and every setting at once [GP, 3.2, 4].

The classes of a setting are cut into shards whose boundaries depend only on their number; threads
take shards. So the weights are the same, bit for bit, on any number of threads, and whether a
setting is trained alone or together with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from myriad.errors import WorkError
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.chunks import Chunk, read_chunks
from myriad.training.columns import STATE, Setting, begin_epoch, drawn_share, make_columns
from myriad.training.one_vs_rest_kernels import add_rows, fold_scales, step_block, step_sampled

BLOCK = 64
SHARD = 96
"""Classes a shard holds at most."""
SAMPLED_BELOW = 1 / 6
"""Below this share of drawn pairs, single dot products beat the product of all (measured)."""
DENSE_UPDATE_ABOVE = 1 / 8
"""Above this share of coefficients that are not zero, a product beats adding rows (measured)."""


class OneVsRest:
    """The weights and states of all columns while they are trained.

    Parameters
    ----------
    settings : one or several; class c under setting s is column ``s * n_classes + c``.
    counts : int64 array of shape (n_classes,), training rows of each class.
    dim : number of features.
    bias_rate : the step of the bias as a part of `eta`.
    loss : number of the binary loss.
    dtype : of weights and scores; float64 is for tests.
    block : rows whose scores come from one product.
    sampled : whether only drawn rows are multiplied; None lets the share of draws decide.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        counts: NDArray[np.int64],
        dim: int,
        *,
        bias_rate: float,
        loss: int,
        dtype: Any = np.float32,
        block: int = BLOCK,
        sampled: bool | None = None,
    ) -> None:
        self.settings = list(settings)
        self.epoch = 0
        self.n_classes = len(counts)
        self.loss = loss
        self.block = block
        self.columns = make_columns(settings, counts, bias_rate=bias_rate)
        self.states = np.zeros(len(self.columns), STATE)
        self.states["sigma"] = 1.0
        self.V = np.zeros((len(self.columns), dim), dtype)
        self._sampled = sampled

    def weights(self, number: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return copies of the weights and biases of one setting."""
        part = slice(number * self.n_classes, (number + 1) * self.n_classes)
        sigma = self.states["sigma"][part].astype(self.V.dtype)
        return self.V[part] * sigma[:, None], self.states["bias"][part].astype(self.V.dtype)

    def load(self, W: NDArray[Any], b: NDArray[Any], number: int = 0) -> None:
        """Take weights and biases of one setting to go on from."""
        part = slice(number * self.n_classes, (number + 1) * self.n_classes)
        self.V[part] = W
        self.states["sigma"][part] = 1.0
        self.states["bias"][part] = b

    def keep(self, numbers: Sequence[int]) -> None:
        """Forget all settings but these."""
        columns = np.concatenate(
            [np.arange(n * self.n_classes, (n + 1) * self.n_classes) for n in numbers]
        )
        self.settings = [self.settings[n] for n in numbers]
        self.V = self.V[columns]
        self.columns, self.states = self.columns[columns], self.states[columns]

    def run_epoch(
        self, rows: Rows, *, seed: int, executor: ThreadPoolExecutor, advance: Advance
    ) -> None:
        """Pass once more over the rows, in the order that the seed gives this epoch."""
        begin_epoch(self.columns, self.states, np.uint64(seed), np.uint64(self.epoch))
        dense, sampled = self._shards()
        for chunk in read_chunks(
            rows,
            block=self.block,
            seed=seed,
            epoch=self.epoch,
            with_grams=bool(dense),
            dtype=self.V.dtype,
            executor=executor,
        ):
            walks = [executor.submit(self._walk_dense, shard, chunk) for shard in dense]
            if sampled:
                places = sort_by_class(chunk.labels, self.n_classes)
                walks += [
                    executor.submit(self._walk_sampled, shard, chunk, *places) for shard in sampled
                ]
            for walk in walks:
                walk.result()
            advance(len(chunk.X))
        self.epoch += 1
        if not (np.isfinite(self.states["bias"]).all() and np.isfinite(self.V.sum())):
            step = max(setting.eta for setting in self.settings)
            raise WorkError(
                f"The weights overflowed in epoch {self.epoch} with eta={step:g}. "
                f"Try a smaller step, such as {step / 10:.1g}."
            )

    def _shards(self) -> tuple[list[slice], list[slice]]:
        """Return the shards that score every row, and those that score the drawn rows only."""
        bounds = np.linspace(0, self.n_classes, 1 + -(-self.n_classes // SHARD)).astype(int)
        dense: list[slice] = []
        sampled: list[slice] = []
        for first in range(0, len(self.columns), self.n_classes):
            share = drawn_share(self.columns[first : first + self.n_classes])
            few = share < SAMPLED_BELOW if self._sampled is None else self._sampled
            (sampled if few else dense).extend(
                slice(first + int(start), first + int(stop)) for start, stop in pairwise(bounds)
            )
        return dense, sampled

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


def add_product(A: NDArray[Any], X: NDArray[Any], V: NDArray[Any]) -> None:
    """Add ``A X`` to the contiguous rows `V` in place, by one product."""
    gemm = blas.sgemm if V.dtype == np.float32 else blas.dgemm
    gemm(1.0, X.T, A.T, beta=1.0, c=V.T, overwrite_c=1)
