"""Rows in the coordinates of their own span, for problems with more features than rows.

N rows of D features span at most N dimensions. With the Cholesky factor L of their Gram matrix,
``X X' = L L'``, the rows of L have the same products with one another as the rows of X. Every
method whose solution is a combination of rows and which sees them only through such products
(regularised by the squared norm, or gradient descent from zero) finds the same scores on L as on X,
in N instead of D dimensions. Weights W' for L belong to the weights ``W = W' L^-1 X`` for X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from myriad.models import LinearModel, Model
from myriad.parallel import ThreadPool
from myriad.progress import Progress
from myriad.store import ArrayRows, Rows

MIN_GAIN = 1.5
"""How many times more features than rows there must be for the Gram matrix to pay."""
EPOCHS = 100
"""Epochs that a search and a training take together, about."""
BYTES = 12
"""Bytes of each product: the factor of the Gram matrix in float64, and rows in float32."""
MEMORY = 2 << 30
BLOCK_BYTES = 512 << 20
"""Bytes of a block of rows that is multiplied with the others."""
RIDGE = 1e-5
"""What is added to the diagonal, as a fraction of its mean: more than products of float32 rows may
be wrong by, since rows that depend on one another (centred rows always do) have a singular matrix.
It is far below the regularisation of any model worth choosing."""


def pays(n_rows: int, dim: int, n_classes: int, *, memory: int = MEMORY) -> bool:
    """Return whether training in the span of the rows fits into memory and is cheaper.

    Multiply-adds for each row: an epoch has two for each class and feature, of which there are N
    instead of D; the Gram matrix, half of which is computed, has N D / 2 once.
    """
    if dim <= MIN_GAIN * n_rows or BYTES * n_rows**2 > memory:
        return False
    return 0.5 * n_rows * dim < 2.0 * EPOCHS * n_classes * (dim - n_rows)


@dataclass(frozen=True)
class Span:
    """Rows in the coordinates of their span.

    Attributes
    ----------
    source : the rows, with all features.
    factor : float64 array L of shape (n_rows, n_rows), lower triangular.
    rows : the rows of L.
    """

    source: Rows
    factor: NDArray[np.float64]
    rows: ArrayRows

    def expand(self, model: Model) -> LinearModel:
        """Return a linear model of the rows of L as a model of rows with all features."""
        assert isinstance(model, LinearModel)
        coefficients = solve_triangular(
            self.factor, model.weights.T.astype(np.float64), lower=True, trans="T"
        ).T.astype(np.float32)
        W = np.zeros((model.n_classes, self.source.dim), np.float32)
        first = 0
        for block in self.source.blocks(_block_rows(self.source)):
            W += coefficients[:, first : first + len(block.X)] @ block.X
            first += len(block.X)
        return LinearModel(W, model.biases)

    def project(self, rows: Rows) -> ArrayRows:
        """Return other rows by their coordinates in the span, with the same scores as before."""
        products = np.empty((rows.n_rows, self.source.n_rows))
        first = 0
        for block in self.source.blocks(_block_rows(self.source)):
            start = 0
            for other in rows.blocks(_block_rows(rows)):
                end = start + len(other.X)
                products[start:end, first : first + len(block.X)] = other.X @ block.X.T
                start = end
            first += len(block.X)
        X = solve_triangular(self.factor, products.T, lower=True).T
        return _with_labels(X, rows)


def find_span(rows: Rows, *, pool: ThreadPool, progress: Progress) -> Span:
    """Return rows in the coordinates of their span."""
    K = multiply_rows(rows, pool=pool, progress=progress)
    square = max(float(np.trace(K)) / len(K), 1e-30)
    K[np.diag_indices_from(K)] += RIDGE * square
    factor = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    return Span(rows, factor, _with_labels(factor, rows))


def _with_labels(X: NDArray[np.float64], rows: Rows) -> ArrayRows:
    """Return coordinates with labels, weights and groups of the rows that they belong to."""
    found = ArrayRows(np.ascontiguousarray(X, np.float32), None, rows.class_names)
    found.labels, found.sets = rows.labels, rows.sets
    found.weights, found.groups = rows.weights, rows.groups
    return found


def multiply_rows(rows: Rows, *, pool: ThreadPool, progress: Progress) -> NDArray[np.float64]:
    """Return the Gram matrix ``X X'`` of rows, of shape (n_rows, n_rows)."""
    n, size = rows.n_rows, _block_rows(rows)
    K = np.empty((n, n))
    starts = range(0, n, size)
    tasks = len(starts) * (len(starts) + 1) // 2
    with progress.step("Multiplying rows with one another", tasks, "blocks") as advance:
        for start in starts:
            X = rows.read(range(start, min(start + size, n)))
            for other in range(start, n, size):
                Y = X if other == start else rows.read(range(other, min(other + size, n)))
                _multiply(X, Y, K[start : start + len(X), other : other + len(Y)], pool)
                advance(1)
    # Where a row comes before the other, its product is there; the others are the same numbers.
    upper = np.triu_indices(n, 1)
    K.T[upper] = K[upper]
    return K


def _multiply(X: NDArray[Any], Y: NDArray[Any], out: NDArray[np.float64], pool: ThreadPool) -> None:
    """Set `out` to ``X Y'``, of the same rows above the diagonal only.

    A task is as large for any number of threads.
    """
    share = 128

    def multiply(start: int) -> None:
        first = start if X is Y else 0
        out[start : start + share, first:] = X[start : start + share] @ Y[first:].T

    pool.share(multiply, range(0, len(X), share))


def _block_rows(rows: Rows) -> int:
    return max(1, min(rows.n_rows, BLOCK_BYTES // (4 * rows.dim)))
