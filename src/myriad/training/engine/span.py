"""Rows in the coordinates of their own span, for problems with more features than rows.

N rows of D features span at most N dimensions. With the Cholesky factor L of their Gram matrix,
``X X' = L L'``, the rows of L have the same products with one another as the rows of X. Every
method whose solution is a combination of rows and which sees them only through such products
(regularised by the squared norm, or gradient descent from zero) finds the same scores on L as on X,
in N instead of D dimensions. Weights W' for L belong to the weights ``W = W' L^-1 X`` for X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.models import LinearModel, Model
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.store import ArrayRows, Rows, with_features
from myriad.training.context import RunningContext
from myriad.training.engine.gram import RowProducts, read_blocks
from myriad.training.engine.shards import class_shards

MIN_GAIN = 1.5
"""Minimum ratio of features to rows for which the Gram matrix is worth its cost."""
EPOCHS = 100
"""Approximate number of epochs of a search and the final training together."""
SHARD = 4096
"""Features whose weights one thread sums."""
BYTES = 16
"""Bytes of each product: the factor of the Gram matrix in float64, products and rows in float32."""
MEMORY = 2 << 30
RIDGES = (1e-5, 1e-4, 1e-3)
"""Values added to the diagonal, as fractions of its mean: the first that is more than products of
float32 rows are wrong by, since rows that depend on one another (centred rows always do) have a
singular matrix. The first one nearly always is, and is far below the regularisation of any model
worth choosing. Rows of few dimensions have many eigenvalues of zero, and may need more."""


def is_span_cheaper(n_rows: int, dim: int, n_classes: int, *, memory: int = MEMORY) -> bool:
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

    def expand(self, model: Model, pool: ThreadPool) -> LinearModel:
        """Return a linear model of the rows of L as a model of rows with all features."""
        assert isinstance(model, LinearModel)
        coefficients = solve_triangular(
            self.factor, model.weights.T.astype(np.float64), lower=True, trans="T"
        ).T.astype(np.float32)
        W = np.zeros((model.n_classes, self.source.dim), np.float32)
        first = 0
        for X in read_blocks(self.source):
            own = coefficients[:, first : first + len(X)]

            def add(features: slice, X: Float = X, own: Float = own) -> None:
                add_product(own, X[:, features], W[:, features])

            pool.share(add, class_shards(W.shape[1], SHARD))
            first += len(X)
        return LinearModel(W, model.biases)

    def project(self, rows: Rows, context: RunningContext) -> ArrayRows:
        """Return other rows by their coordinates in the span, with the same scores as before."""
        products = _multiply_rows(self.source, rows, context)
        return with_features(solve_triangular(self.factor, products, lower=True).T, rows)


def find_span(rows: Rows, context: RunningContext) -> Span:
    """Return rows in the coordinates of their span."""
    for ridge in RIDGES:
        K = _multiply_rows(rows, None, context)
        square = max(float(np.trace(K)) / len(K), 1e-30)
        K[np.diag_indices_from(K)] += ridge * square
        try:
            factor = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return Span(rows, factor, with_features(factor, rows))
    raise InputError(
        "Products of the rows cannot be computed in float32: scale the features to similar sizes."
    )


def _multiply_rows(rows: Rows, others: Rows | None, context: RunningContext) -> NDArray[np.float64]:
    products = RowProducts() if context.products is None else context.products
    return products.multiply(rows, others, pool=context.pool, progress=context.progress)
