"""First and second moments of the rows of each class, collected in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.parallel import ThreadPool
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.baselines.class_sums import ClassSums
from myriad.training.engine.shards import class_shards

BLOCK_ROWS, BLOCK_BYTES = 2048, 32 << 20
"""Rows of a block, at most, and bytes: their products are summed in float32, blocks in float64."""
SHARD = 192
"""Features whose products with all features one thread computes."""


@dataclass(frozen=True)
class ClassMoments:
    """Sums over the rows of each class, and sums of products of features over all rows.

    Attributes
    ----------
    counts : float64 array of shape (n_classes,), the number of rows, or the sum of their weights.
    sums : float64 array of shape (n_classes, n_features)
    products : float64 array of shape (n_features, n_features), the sum of ``x x'`` over all rows.
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    products: NDArray[np.float64]

    @classmethod
    def collect(
        cls, rows: Rows, n_classes: int, *, pool: ThreadPool, progress: Progress = SILENT
    ) -> Self:
        """Return the moments of rows; those without a label are left out.

        Weights of rows are scaled to a mean of 1, so that they count rows.
        """
        known = rows.labels >= 0
        counted = known.astype(np.float64)
        if rows.weights is not None:
            counted *= rows.weights
            counted *= known.sum() / max(counted.sum(), np.finfo(np.float64).tiny)
        sums, products = ClassSums(n_classes, rows.dim), np.zeros((rows.dim, rows.dim))
        size = max(1, min(BLOCK_ROWS, BLOCK_BYTES // (4 * rows.dim)))
        with progress.step("Computing covariances", rows.n_rows, "rows") as advance:
            for block in rows.blocks(size):
                weights = counted[block.index]
                sums.add_block(block, rows.all_labels.select(block.index), weights, pool)
                roots = np.sqrt(weights).astype(np.float32)
                X = block.X if (roots == 1.0).all() else block.X * roots[:, None]
                _add_products(X, products, pool)
                advance(len(X))
        for features in class_shards(rows.dim, SHARD):  # mirror the upper half
            products[features.start :, features] = products[features, features.start :].T
        return cls(sums.counts, sums.sums, products)

    def __add__(self, other: Self) -> Self:
        """Return the moments of these rows and others."""
        return type(self)(
            self.counts + other.counts, self.sums + other.sums, self.products + other.products
        )

    def __sub__(self, other: Self) -> Self:
        """Return the moments of these rows without others that are among them."""
        return type(self)(
            self.counts - other.counts, self.sums - other.sums, self.products - other.products
        )


def _add_products(X: Float, products: NDArray[np.float64], pool: ThreadPool) -> None:
    """Add ``X' X`` to products, of which the upper half is computed."""

    def add(features: slice) -> None:
        later = slice(features.start, None)
        products[features, later] += X[:, features].T @ X[:, later]

    pool.share(add, class_shards(X.shape[1], SHARD))
