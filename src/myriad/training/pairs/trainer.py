"""The base class of trainers over all pairs of rows and classes: scores, and sums by class.

TopPush and Recall@k reduce the multiclass problem to a binary one with a sample for each pair of a
row and a class [TK, 2.3]: the pairs of rows with their own classes are the positives, all others
the negatives. A gradient takes two matrix products, about as much as an epoch of softmax. Memory
holds a value for each pair that is ranked at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.dual.ascent import DualTrainer
from myriad.training.engine.shards import class_shards

RANGE_BYTES = 16 << 20
"""Bytes of rows that are read at a time."""
SHARD = 64
"""Classes whose sums one thread computes."""
MOST_PAIRS = 1 << 26
"""Pairs of a row and a class that can be ranked together: they take about 2 GB."""


class PairTrainer(DualTrainer):
    """Training over all pairs of rows and classes; the base class.

    Weights have shape (n_classes, dim + 1); the last column belongs to the constant feature.

    Parameters
    ----------
    rows : the training rows.
    lam : regularisation strength.
    bias : value of a constant feature, 0 for none.
    ranked : number of rows whose pairs are ranked together; all by default.

    Attributes
    ----------
    advice : what to do where there are too many pairs.
    """

    advice = "train on fewer rows, or use the objective topk"

    def __init__(
        self, rows: Rows, n_classes: int, *, lam: float, bias: float, ranked: int | None = None
    ) -> None:
        ranked = rows.n_rows if ranked is None else ranked
        if ranked * n_classes > MOST_PAIRS:
            raise InputError(
                f"{ranked} rows of {n_classes} classes are {ranked * n_classes} pairs, of which at "
                f"most {MOST_PAIRS} can be held in memory: {self.advice}."
            )
        self.rows, self.n_classes, self.lam, self.bias = rows, n_classes, lam, bias
        self.epoch = 0
        self._certified = np.zeros((n_classes, rows.dim + 1))

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""
        return self._certified[:, :-1], self.bias * self._certified[:, -1]

    def score(
        self, rows: Rows, W: NDArray[Any], pool: ThreadPool, dtype: Any = np.float32
    ) -> NDArray[Any]:
        """Return the scores of rows, (n_rows, m), by weights of shape (m, dim + 1)."""
        weights, biases = W[:, :-1].astype(dtype), (self.bias * W[:, -1]).astype(dtype)
        S = np.empty((rows.n_rows, len(W)), dtype)

        @np.errstate(over="ignore", invalid="ignore")
        def work(some: range) -> None:
            X = rows.read(some).astype(dtype, copy=False)
            np.matmul(X, weights.T, out=S[some.start : some.stop])
            S[some.start : some.stop] += biases

        pool.share(work, divide(rows))
        return S

    def combine(
        self, rows: Rows, M: NDArray[Any], pool: ThreadPool, dtype: Any = np.float32
    ) -> NDArray[np.float64]:
        """Return the sum of rows for each class, (n_classes, dim + 1), times ``M[i, c]``.

        Threads sum some classes each, in the order of the rows, so that the bits do not depend on
        their number.
        """
        sums = np.zeros((self.n_classes, rows.dim + 1))
        for some in divide(rows):
            X, part = rows.read(some).astype(dtype, copy=False), M[some.start : some.stop]

            def add(shard: slice, X: NDArray[Any] = X, part: NDArray[np.float64] = part) -> None:
                sums[shard, :-1] += part[:, shard].T.astype(dtype) @ X
                sums[shard, -1] += self.bias * part[:, shard].sum(axis=0)

            pool.share(add, class_shards(self.n_classes, SHARD))
        return sums


def divide(rows: Rows) -> list[range]:
    """Return ranges of rows to read at a time; they depend on the size of the problem alone."""
    size = max(1, min(1024, RANGE_BYTES // (8 * rows.dim)))
    n = rows.n_rows
    return [range(start, min(start + size, n)) for start in range(0, n, size)]
