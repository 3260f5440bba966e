"""The multinomial logistic risk of rows, by blocks, and products with its gradient.

``R(W) = sum_i w_i (log sum_c exp s_ic - s_iy)`` with ``s_i = W^T x_i + b`` and weights ``w`` that
add up to 1. Its gradient is ``G = X^T E`` with the residuals ``E_ic = w_i (p_ic - [c = y_i])``; it
is used only in products, a block of rows at a time, and never formed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.trace.latents import Basis, Point, Real

BLOCK_BYTES = 2 << 20
"""Bytes of the scores or features of a block."""
SHARDS = 16
"""Partial sums, each computed by any one thread, that are added in order."""
CACHE_BYTES = 64 << 20
"""Residuals and latents of all rows are kept if they take no more; else they are computed again."""


class Risk:
    """The empirical risk of some rows.

    Parameters
    ----------
    rows : rows of one known label each.
    biases : the score of every class where W is zero, float32 of shape (n_classes,)
    """

    def __init__(self, rows: Rows, biases: Float, pool: ThreadPool) -> None:
        self.rows, self.pool = rows, pool
        self.biases = biases.astype(rows.dtype)
        self.n_classes = len(biases)
        counted = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        self.weights: Real = counted / counted.sum()
        size = max(16, min(1024, BLOCK_BYTES // (4 * max(rows.dim, self.n_classes))))
        starts = range(0, rows.n_rows, size)
        blocks = [range(start, min(start + size, rows.n_rows)) for start in starts]
        each = -(-len(blocks) // SHARDS)
        self._shards = [blocks[first : first + each] for first in range(0, len(blocks), each)]

    def project(self, basis: Basis) -> Latents:
        """Return the latents of all rows in a basis."""
        return Latents(self, basis)

    def evaluate(self, latents: Latents, B: Real) -> tuple[float, Real]:
        """Return the risk at ``basis B`` and its gradient with respect to B, (p, n_classes)."""
        plain = B.astype(self.rows.dtype)

        def add(block: range) -> tuple[Any, ...]:
            Z = latents.read(block)
            E, losses = self.residuals(Z @ plain, block)
            return losses @ self.weights[block.start : block.stop], (Z.T @ E).astype(np.float64)

        risk, H = self.sum(add)
        return float(risk), H

    def residuals(self, scores: NDArray[Any], block: range) -> tuple[NDArray[Any], Real]:
        """Replace scores without biases by weighted residuals; return these and the losses."""
        some = slice(block.start, block.stop)
        at = np.arange(len(block)), self.rows.labels[some]
        scores += self.biases
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[at].astype(np.float64)
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1, dtype=np.float64)
        scores *= (self.weights[some] / totals).astype(scores.dtype)[:, None]
        scores[at] -= self.weights[some].astype(scores.dtype)
        return scores, np.log(totals) - own

    def sum(self, function: Callable[[range], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the sum over blocks of the tuple that a function returns for each.

        The order of additions depends only on the number of rows, so that the result is the same,
        bit for bit, on any number of threads.
        """
        sums: list[tuple[Any, ...] | None] = [None] * len(self._shards)

        def add(shard: int) -> None:
            total: tuple[Any, ...] | None = None
            for block in self._shards[shard]:
                terms = function(block)
                total = terms if total is None else _add(total, terms)
            sums[shard] = total

        self.pool.share(add, range(len(sums)))
        whole: tuple[Any, ...] | None = None
        for terms in sums:
            assert terms is not None
            whole = terms if whole is None else _add(whole, terms)
        assert whole is not None
        return whole

    def visit(self, function: Callable[[range], None]) -> None:
        """Call a function with each block, in any order."""
        self.pool.share(function, [block for shard in self._shards for block in shard])


def _add(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))


class Latents:
    """The latents of all rows, cached where they fit, else computed at each `read`."""

    def __init__(self, risk: Risk, basis: Basis) -> None:
        self._rows, self._basis = risk.rows, basis
        shape = risk.rows.n_rows, basis.n_latents
        self._kept: NDArray[Any] | None = None
        if 4 * shape[0] * shape[1] <= CACHE_BYTES:
            kept = np.empty(shape, risk.rows.dtype)

            def fill(block: range) -> None:
                kept[block.start : block.stop] = basis.project(risk.rows.read(block))

            if shape[1]:
                risk.visit(fill)
            self._kept = kept

    def read(self, block: range) -> NDArray[Any]:
        """Return the latents of a block, of shape (n, p)."""
        if self._kept is not None:
            return self._kept[block.start : block.stop]
        return self._basis.project(self._rows.read(block))


class Gradient:
    """The gradient G (n_features, n_classes) of a risk at a point, used only in products.

    Attributes
    ----------
    losses : float64 array of shape (n_samples,), ``-log p_y`` of each row.
    H : float64 array of shape (p, n_classes): the gradient with respect to B.
    """

    def __init__(self, risk: Risk, point: Point, latents: Latents) -> None:
        self.risk, self._latents = risk, latents
        self._B = point.B.astype(risk.rows.dtype)
        self.losses = np.empty(risk.rows.n_rows)
        self._kept: NDArray[Any] | None = None
        if 4 * risk.rows.n_rows * risk.n_classes <= CACHE_BYTES:
            self._kept = np.empty((risk.rows.n_rows, risk.n_classes), risk.rows.dtype)

        def add(block: range) -> tuple[Any, ...]:
            Z = latents.read(block)
            E, losses = risk.residuals(Z @ self._B, block)
            self.losses[block.start : block.stop] = losses
            if self._kept is not None:
                self._kept[block.start : block.stop] = E
            return ((Z.T @ E).astype(np.float64),)

        (self.H,) = risk.sum(add)

    @property
    def value(self) -> float:
        """The risk at the point."""
        return float(self.losses @ self.risk.weights)

    def times(self, V: NDArray[Any]) -> Real:
        """Return ``G V`` for V (n_classes, q)."""
        plain = V.astype(self.risk.rows.dtype)

        def add(block: range) -> tuple[Any, ...]:
            return ((self.risk.rows.read(block).T @ (self._read(block) @ plain)).astype(float),)

        product: Real = self.risk.sum(add)[0]
        return product

    def transposed_times(self, U: NDArray[Any]) -> Real:
        """Return ``G^T U`` for U (n_features, q)."""
        plain = U.astype(self.risk.rows.dtype)

        def add(block: range) -> tuple[Any, ...]:
            return ((self._read(block).T @ (self.risk.rows.read(block) @ plain)).astype(float),)

        product: Real = self.risk.sum(add)[0]
        return product

    def of_features(self, features: slice) -> NDArray[Any]:
        """Return the rows of G that belong to a slice of the features."""

        def add(block: range) -> tuple[Any, ...]:
            X = np.ascontiguousarray(self.risk.rows.read(block)[:, features])
            return (X.T @ self._read(block),)

        some: NDArray[Any] = self.risk.sum(add)[0]
        return some

    def _read(self, block: range) -> NDArray[Any]:
        if self._kept is not None:
            return self._kept[block.start : block.stop]
        return self.risk.residuals(self._latents.read(block) @ self._B, block)[0]
