"""Spaces: dual variables act on weights of features or, with a kernel, on the rows themselves.

A dual column a_i adds ``a_i x_i'`` to the weights. With features the weights are (n_classes, dim).
With a kernel x_i is known only by its products with the other rows, row i of the Gram matrix K; the
"weights" are then the dual columns themselves, (n_classes, n_rows), and scores are again a product
of a row, now of K, with them.

A constant feature may be added to the others; its weights, times its value, are the biases. It is
regularised like any other, as in LIBLINEAR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.store import Rows
from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.dual.sparse_duals_kernels import (
    RowClasses,
    SparseBlock,
    add_changes,
    add_columns,
    add_signed_columns,
    add_to_columns,
    count_columns,
    scatter_columns,
    scatter_signed_columns,
)
from myriad.training.engine.chunks import Chunk
from myriad.training.engine.scores import score_block, score_panels
from myriad.training.engine.shards import class_shards

SHARD = 512
"""Features that one thread sums at a time."""
CLASS_SHARD = 128
"""Classes whose weights one thread changes at a time."""
BLOCK_BYTES = 16 << 20
DENSE_ABOVE = 0.1
"""The fraction of nonzero numbers from which a product is faster than adding row by row."""

FloatArray = NDArray[np.float64]


class Space(ABC):
    """Weights in dual training.

    Attributes
    ----------
    V : float array of shape (n_classes, width), the weights.
    constants : float array of shape (n_classes,), the weights of the constant feature.
    bias : the value of the constant feature, 0 for none.
    """

    def __init__(self, n_classes: int, width: int, *, bias: float, dtype: Any) -> None:
        self.V = np.zeros((n_classes, width), dtype)
        self.constants = np.zeros(n_classes, dtype)
        self.bias = bias

    def score(self, chunk: Chunk, number: int, block: slice, pool: ThreadPool) -> NDArray[Any]:
        """Return the scores (B, n_classes) of the rows of a block."""
        S = self._score(chunk, number, block, pool)
        if self.bias:
            S += self.bias * self.constants
        return S

    @abstractmethod
    def _score(self, chunk: Chunk, number: int, block: slice, pool: ThreadPool) -> NDArray[Any]:
        """Return the products of a block's rows with the weights."""

    def gram(
        self, chunk: Chunk, number: int, block: slice, index: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return the Gram matrix (B, B) of the rows of a block."""
        products = self._products(chunk, number, block, index)
        return products + products.dtype.type(self.bias**2) if self.bias else products

    @abstractmethod
    def _products(
        self, chunk: Chunk, number: int, block: slice, index: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return the Gram matrix without the constant feature."""

    @abstractmethod
    def add(self, X: NDArray[Any], index: NDArray[np.int64], changes: SparseBlock) -> None:
        """Change the weights by the steps of a block; see `topk_kernels.step_topk`."""

    @abstractmethod
    def add_matrix(
        self, X: NDArray[Any], index: NDArray[np.int64], A: NDArray[Any], pool: ThreadPool
    ) -> None:
        """Change the weights by the steps of a block, `A` (B, n_classes), most of them not zero."""

    @abstractmethod
    def rebuild(
        self, rows: Rows, duals: SparseDuals, pool: ThreadPool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weights and constants of the dual variables, computed in float64."""


class FeatureSpace(Space):
    """Weights of features."""

    def _score(self, chunk: Chunk, number: int, block: slice, pool: ThreadPool) -> NDArray[Any]:
        return score_panels(chunk.panels[number], block.stop - block.start, self.V, pool)

    def _products(
        self, chunk: Chunk, number: int, block: slice, index: NDArray[np.int64]
    ) -> NDArray[Any]:
        return chunk.grams[number]

    def add(self, X: NDArray[Any], index: NDArray[np.int64], changes: SparseBlock) -> None:
        """Add each row, times its steps."""
        add_changes(X, changes, self.V)
        if self.bias:
            constant = np.full((len(X), 1), self.bias, X.dtype)
            add_changes(constant, changes, self.constants[:, None])

    def add_matrix(
        self, X: NDArray[Any], index: NDArray[np.int64], A: NDArray[Any], pool: ThreadPool
    ) -> None:
        """Add the product of steps and rows."""

        def add(shard: slice) -> None:
            add_product(A[:, shard].T, X, self.V[shard])

        pool.share(add, class_shards(len(self.V), CLASS_SHARD))
        if self.bias:
            self.constants += self.bias * A.sum(axis=0)

    def rebuild(
        self, rows: Rows, duals: SparseDuals, pool: ThreadPool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the products of the dual columns and the rows."""
        weights = sum_columns(rows, duals, len(self.V), pool)
        columns = np.zeros((len(self.V), 1))
        if self.bias:
            constant = np.full((rows.n_rows, 1), self.bias)
            add_columns(constant, rows.labels, duals.table(), columns, 0, 0, 1)
        return weights, columns[:, 0]


class KernelSpace(Space):
    """Dual columns as weights of the rows of a Gram matrix; the training rows must be these."""

    def _score(self, chunk: Chunk, number: int, block: slice, pool: ThreadPool) -> NDArray[Any]:
        return score_block(chunk.X[block], self.V, pool)

    def _products(
        self, chunk: Chunk, number: int, block: slice, index: NDArray[np.int64]
    ) -> NDArray[Any]:
        return np.ascontiguousarray(chunk.X[block][:, index])

    def add(self, X: NDArray[Any], index: NDArray[np.int64], changes: SparseBlock) -> None:
        """Add the steps to the rows' columns."""
        add_to_columns(index, changes, self.V)

    def add_matrix(
        self, X: NDArray[Any], index: NDArray[np.int64], A: NDArray[Any], pool: ThreadPool
    ) -> None:
        """Add the steps to the rows' columns."""
        self.V[:, index] += A.T

    def rebuild(
        self, rows: Rows, duals: SparseDuals, pool: ThreadPool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the dual columns as a dense matrix; there are no constants."""
        weights = np.zeros(self.V.shape)
        scatter_columns(rows.labels, duals.table(), weights)
        return weights, np.zeros(len(weights))


def check_gram(K: FloatArray) -> None:
    """Raise `InputError` unless a matrix is symmetric and positive semi-definite.

    Errors of rounding to float32 are tolerated.
    """
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"A Gram matrix is square, not of shape {K.shape}.")
    size = float(np.abs(K).max(initial=0.0))
    if not np.allclose(K, K.T, rtol=1e-5, atol=1e-6 * size):
        raise InputError("The Gram matrix is not symmetric: it must hold k(x_i, x_j) for all rows.")
    try:
        np.linalg.cholesky(K + (1e-5 * max(size, 1e-30)) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        raise InputError(
            "The Gram matrix has a negative eigenvalue: it does not come from a kernel."
        ) from None


def sum_columns(rows: Rows, duals: SparseDuals, n_classes: int, pool: ThreadPool) -> FloatArray:
    """Return the weights (n_classes, dim) of the dual columns of top-k, summed in float64."""
    weights = np.zeros((n_classes, rows.dim))
    table = duals.table()

    def add(X: NDArray[Any], first: int, features: slice) -> None:
        labels = rows.labels[first : first + len(X)]
        add_columns(X, labels, table, weights, first, features.start, features.stop)

    _share_features(rows, rows.dim, add, pool)
    return weights


def sum_signed_columns(
    rows: Rows,
    duals: SparseDuals,
    positives: RowClasses,
    shards: list[slice],
    pool: ThreadPool,
    *,
    width: int,
) -> FloatArray:
    """Return the weights (n_classes, dim) of the dual columns of one-vs-rest, summed in float64.

    The columns of a class shard with many variables are multiplied with the rows as a dense matrix;
    this depends on the shard's own classes only.

    Parameters
    ----------
    positives : the labels of all rows.
    shards : class shards; together they are all classes.
    width : values per row that are in memory at a time, at least the number of features.
    """
    n_classes = shards[-1].stop
    weights, table = np.zeros((n_classes, rows.dim)), duals.table()
    counts = np.zeros(n_classes, np.int64)
    count_columns(table, counts)
    dense = [shard for shard in shards if counts[shard].mean() > DENSE_ABOVE * rows.n_rows]
    skipped = np.zeros(n_classes, np.bool_)
    for shard in dense:
        skipped[shard] = True
    columns: list[FloatArray] = []

    def prepare(X: NDArray[Any], first: int) -> NDArray[Any]:
        columns[:] = [np.zeros((shard.stop - shard.start, len(X))) for shard in dense]
        for shard, some in zip(dense, columns, strict=True):
            scatter_signed_columns(positives, table, first, shard.start, some)
        return X.astype(np.float64, copy=False) if dense else X

    def add(X: NDArray[Any], first: int, features: slice) -> None:
        for shard, some in zip(dense, columns, strict=True):
            add_product(some, X[:, features], weights[shard, features])
        if len(dense) < len(shards):
            part = features.start, features.stop
            add_signed_columns(X, positives, table, skipped, weights, first, *part)

    _share_features(rows, width, add, pool, prepare=prepare)
    return weights


def _share_features(
    rows: Rows,
    width: int,
    add: Callable[[NDArray[Any], int, slice], None],
    pool: ThreadPool,
    *,
    prepare: Callable[[NDArray[Any], int], NDArray[Any]] = lambda X, first: X,
) -> None:
    """Call `add` with each block of rows, the number of its first row and a slice of the features.

    Threads share the features, so that every weight is one sum in the order of the rows.

    Parameters
    ----------
    prepare : called with each block and the number of its first row; it returns the block.
    """
    shards, first = class_shards(rows.dim, SHARD), 0
    for block in rows.blocks(max(1, min(1024, BLOCK_BYTES // (8 * width)))):
        X = prepare(block.X, first)
        pool.share(partial(add, X, first), shards)
        first += len(X)
