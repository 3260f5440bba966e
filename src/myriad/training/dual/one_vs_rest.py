"""One-vs-rest support vector machines in the dual, in blocks: what LIBLINEAR solves.

Class c minimises ``lam/2 |w|^2 + sum_i weight_i loss(z_i w.x_i)``; the weights are 1/n, or say how
much the positives and the negatives count. Hinge or squared hinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.panels import multiply
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.store import Rows
from myriad.store.views import OwnLabels
from myriad.training.dual.ascent import Ascent, Certificate
from myriad.training.dual.one_vs_rest_kernels import (
    PART,
    collect,
    spread,
    step_columns,
    sum_losses,
    sum_variables,
)
from myriad.training.dual.spaces import sum_columns
from myriad.training.dual.sparse_duals_kernels import add_signed_columns
from myriad.training.engine.chunks import Chunk
from myriad.training.engine.linear_trainer import class_shards
from myriad.training.sgd.one_vs_rest_kernels import add_rows

BLOCK = 64
SHARD = 128
"""Classes that one thread steps through a block."""
DENSE_ABOVE = 0.1
"""The part of steps not zero from which a product is faster than adding row by row."""
DUAL_LOSSES = {"hinge": False, "squared_hinge": True}


class BinaryAscent(Ascent):
    """The duals of all classes.

    Parameters
    ----------
    squared : whether the hinge is squared.
    beta : how much all negatives count together, as times the positives [GP, 3.2]; None counts
        every row alike.
    class_weights : float array (n_classes,), how much more the positives of a class count, or None.
    bias : value of a constant feature, 0 for none.
    own : the classes that are trained, from shard to shard; by default all of `n_classes`.
    """

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        *,
        own: range | None = None,
        squared: bool,
        lam: float,
        beta: float | None = None,
        class_weights: NDArray[np.float64] | None = None,
        bias: float = 1.0,
        dtype: Any = np.float32,
        block: int = BLOCK,
    ) -> None:
        weights, shards = weigh(rows.labels, n_classes, beta, class_weights), n_classes
        width = max(rows.dim, n_classes)
        if own is not None:
            rows, n_classes, weights = OwnLabels(rows, own), len(own), weights[own]
        super().__init__(rows, n_classes, lam=lam, dtype=dtype, block=block)
        self.squared, self.bias, self.width = squared, bias, width
        self.shards = shards_in(own or range(n_classes), shards)
        self.V = np.zeros((n_classes, rows.dim), dtype)
        self.constants = np.zeros(n_classes, dtype)
        self._parts = np.zeros((n_classes, 2), PART)
        self._parts["weight"] = weights
        self._set_bounds()
        self._certified = np.zeros((0, 0)), np.zeros(0)
        shape = (block, n_classes)
        self._classes, self._stored = np.empty(shape, np.int32), np.empty(shape)
        self._counts = np.empty(block, np.int32)

    def _set_bounds(self) -> None:
        weights = self._parts["weight"]
        with np.errstate(divide="ignore"):
            self._parts["ridge"] = self.lam / (2 * weights) if self.squared else 0.0
        self._parts["upper"] = np.inf if self.squared else weights / self.lam

    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        for number, part in enumerate(chunk.blocks(self.block)):
            X, index, labels = chunk.X[part], chunk.index[part], chunk.labels[part]
            gram = chunk.grams[number] + self.dtype.type(self.bias**2)
            counts = self._counts[: len(X)]
            values = np.empty((self.n_classes, len(X)))
            self.duals.load(index, self._classes, self._stored, counts)
            spread(self._classes, self._stored, counts, values)

            def step(
                shard: slice,
                X: NDArray[Any] = X,
                panels: NDArray[Any] = chunk.panels[number],
                labels: NDArray[np.int32] = labels,
                gram: NDArray[Any] = gram,
                values: NDArray[np.float64] = values,
            ) -> None:
                self._step_shard(shard, X, panels, labels, gram, values)

            pool.share(step, self.shards)
            collect(values, self._classes, self._stored, counts)
            self.duals.store(index, self._classes, self._stored, counts)

    def _step_shard(
        self,
        shard: slice,
        X: NDArray[Any],
        panels: NDArray[Any],
        labels: NDArray[np.int32],
        gram: NDArray[Any],
        values: NDArray[np.float64],
    ) -> None:
        S = np.empty((shard.stop - shard.start, len(X)), self.dtype)
        multiply(self.V[shard], panels, S, True)
        S += (self.bias * self.constants[shard])[:, None]
        steps = np.empty_like(S)
        n_steps = step_columns(
            gram, labels, self._parts[shard], S, values[shard], steps, shard.start
        )
        if n_steps > DENSE_ABOVE * steps.size:
            add_product(steps, X, self.V[shard])
        elif n_steps:
            add_rows(steps, X, self.V[shard])
        self.constants[shard] += self.bias * steps.sum(axis=1)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables, and return the values of every class."""
        weights = sum_columns(self.rows, self.duals, self.n_classes, pool, signed=True)
        columns, table = np.zeros((self.n_classes, 1)), self.duals.table()
        constant = np.full((self.rows.n_rows, 1), self.bias)
        add_signed_columns(constant, self.rows.labels, table, columns, 0, (0, 1))
        constants = columns[:, 0]
        biases = self.bias * constants

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            X = X.astype(np.float64, copy=False)
            S = np.empty((len(X), self.n_classes))
            for shard in self.shards:  # so that some classes have the bits that all have
                np.matmul(X, weights[shard].T, out=S[:, shard])
            S += biases
            totals = np.zeros(self.n_classes)
            labels = self.rows.labels[some.start : some.stop]
            sum_losses(S, labels, self._parts, self.squared, totals)
            return totals

        losses = self.sum_ranges(measure, pool)
        sums, prices = np.zeros(self.n_classes), np.zeros(self.n_classes)
        sum_variables(self.rows.labels, *table, self._parts, sums, prices)
        norms = 0.5 * self.lam * (np.einsum("ij,ij->i", weights, weights) + constants**2)
        self._certified = weights, biases
        self.V[:], self.constants[:] = weights, constants
        return Certificate(norms + losses, self.lam * (sums - prices) - norms)

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""
        return self._certified

    def change_lam(self, lam: float) -> None:
        """Go on with another `lam`; where its bounds are narrower, the variables shrink alike."""
        if lam > self.lam:
            factor = self.lam / lam
            self.duals.scale(factor)
            self.V *= factor
            self.constants *= factor
        self.lam = lam
        self._set_bounds()


def shards_in(own: range, n_classes: int) -> list[slice]:
    """Return the shards of all classes that lie among some, counted from the first of these."""
    return [
        slice(shard.start - own.start, shard.stop - own.start)
        for shard in class_shards(n_classes, SHARD)
        if shard.start in own
    ]


def weigh(
    labels: NDArray[np.int32],
    n_classes: int,
    beta: float | None,
    class_weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return how much a row of the rest and one of the class count, (n_classes, 2)."""
    n = len(labels)
    weights = np.full((n_classes, 2), 1.0 / n)
    if beta is not None:
        positives = np.maximum(np.bincount(labels, minlength=n_classes), 1)
        weights[:, 0] = beta / (1.0 + beta) / np.maximum(n - positives, 1)
        weights[:, 1] = 1.0 / (1.0 + beta) / positives
    if class_weights is not None:
        weights[:, 1] *= class_weights
    return weights
