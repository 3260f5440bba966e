"""One-vs-rest support vector machines in the dual, in blocks: the problems of LIBLINEAR.

Class c minimises ``lam/2 |w|^2 + sum_i weight_i loss(z_i w.x_i)`` with the hinge or squared hinge
loss, where z_i is 1 for the rows that have the class among their labels; the weights are 1/n, or
differ between positives and negatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.measures import LabelSets
from myriad.models import LinearModel
from myriad.objectives import DUAL_LOSSES
from myriad.objectives.binary import dual_bounds
from myriad.panels import multiply
from myriad.parallel import ThreadPool
from myriad.products import add_product
from myriad.store import Rows
from myriad.training.dual.ascent import Ascent, Certificate
from myriad.training.dual.one_vs_rest_kernels import (
    DUAL_SIDE,
    gather_variables,
    mark_positives,
    scatter_variables,
    step_columns,
    sum_losses,
    sum_variables,
)
from myriad.training.dual.screening_kernels import (
    add_screened_losses,
    bound_errors,
    count_uncertain,
)
from myriad.training.dual.spaces import DENSE_ABOVE, sum_signed_columns
from myriad.training.dual.sparse_duals_kernels import (
    RowClasses,
    SparseBlock,
    add_signed_columns,
    count_columns,
)
from myriad.training.engine.chunks import Chunk
from myriad.training.engine.shards import class_shards
from myriad.training.sgd.one_vs_rest_kernels import add_rows

SHARD = 128
"""Classes that one thread trains on a block."""
MAX_UNCERTAIN = 0.08
"""Maximum fraction of scores that float32 cannot decide for which computing these alone in float64
is faster than computing all scores in float64."""


class BinaryAscent(Ascent):
    """Trainer of one-vs-rest in the dual, of all classes or of a class shard.

    Parameters
    ----------
    loss : one of `DUAL_LOSSES`.
    beta : weight of all negatives together, relative to the positives [GP, 3.2]; None gives every
        row the same weight.
    class_weights : float array of shape (n_classes,), factors of the weights of positives, or None.
    loss_weights : float array of shape (n_classes,), factors of the weights of all rows, or None.
    bias : value of a constant feature, 0 for none.
    own : the classes that are trained, a range of whole shards; by default all of `n_classes`.

    Attributes
    ----------
    screened : whether certificates compute scores in float64 only where those in float32 do not
        show that the loss is zero.
    """

    BLOCK = 64
    """Rows whose scores come from one product."""

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        *,
        own: range | None = None,
        loss: str,
        lam: float,
        beta: float | None = None,
        class_weights: NDArray[np.float64] | None = None,
        loss_weights: NDArray[np.float64] | None = None,
        bias: float = 1.0,
        dtype: Any = np.float32,
        block: int = BLOCK,
    ) -> None:
        sets = rows.all_labels
        counts, shards = sets.counts(n_classes), n_classes
        weights = row_weights(counts, rows.n_rows, beta, class_weights)
        if loss_weights is not None:
            weights *= loss_weights[:, None]
        width = max(rows.dim, n_classes)
        if own is not None:
            n_classes, weights, sets = len(own), weights[own], restrict(sets, own, n_classes)
        super().__init__(rows, n_classes, lam=lam, dtype=dtype, block=block)
        self.loss, self.bias, self.width = loss, bias, width
        self.sets, self._positives = sets, RowClasses(sets.starts, sets.classes)
        self.shards = shards_in(own or range(n_classes), shards)
        self.V = np.zeros((n_classes, rows.dim), dtype)
        self.constants = np.zeros(n_classes, dtype)
        self._sides = np.zeros((n_classes, 2), DUAL_SIDE)
        self._sides["weight"] = weights
        self._set_bounds()
        self._certified = np.zeros((0, 0)), np.zeros(0)
        self.screened = self.dtype == np.float32
        shape = (block, n_classes)
        self._classes, self._stored = np.empty(shape, np.int32), np.empty(shape)
        self._counts = np.empty(block, np.int32)

    def _set_bounds(self) -> None:
        upper, ridge = dual_bounds(self.loss, self._sides["weight"], self.lam)
        self._sides["upper"], self._sides["ridge"] = upper, ridge

    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        for number, block in enumerate(chunk.blocks(self.block)):
            X, index = chunk.X[block], chunk.index[block]
            gram = chunk.grams[number] + self.dtype.type(self.bias**2)
            variables = SparseBlock(self._classes, self._stored, self._counts[: len(X)])
            values = np.empty((self.n_classes, len(X)))
            self.duals.load(index, variables)
            scatter_variables(variables, values)

            def step(
                shard: slice,
                X: NDArray[Any] = X,
                panels: NDArray[Any] = chunk.panels[number],
                index: NDArray[np.int64] = index,
                gram: NDArray[Any] = gram,
                values: NDArray[np.float64] = values,
            ) -> None:
                self._step_shard(shard, X, panels, index, gram, values)

            pool.share(step, self.shards)
            gather_variables(values, variables)
            self.duals.store(index, variables)

    def _step_shard(
        self,
        shard: slice,
        X: NDArray[Any],
        panels: NDArray[Any],
        index: NDArray[np.int64],
        gram: NDArray[Any],
        values: NDArray[np.float64],
    ) -> None:
        S = np.empty((shard.stop - shard.start, len(X)), self.dtype)
        multiply(self.V[shard], panels, S, 0)
        S += (self.bias * self.constants[shard])[:, None]
        steps, positive = np.empty_like(S), np.zeros(S.shape, np.bool_)
        mark_positives(self._positives, index, shard.start, positive)
        n_steps = step_columns(gram, positive, self._sides[shard], S, values[shard], steps)
        if n_steps > DENSE_ABOVE * steps.size:
            add_product(steps, X, self.V[shard])
        elif n_steps:
            add_rows(steps, X, self.V[shard])
        self.constants[shard] += self.bias * steps.sum(axis=1)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Set the weights to those of the variables; return the values of every class."""
        positives = self._positives
        weights = sum_signed_columns(
            self.rows, self.duals, positives, self.shards, pool, width=self.width
        )
        columns, table = np.zeros((self.n_classes, 1)), self.duals.table()
        constant, none = np.full((self.rows.n_rows, 1), self.bias), np.zeros(self.n_classes, bool)
        add_signed_columns(constant, positives, table, none, columns, 0, 0, 1)
        constants = columns[:, 0]
        biases = self.bias * constants

        measure = self._make_measure(weights, biases)
        losses = self.sum_ranges(measure, pool)
        sums, ridges = np.zeros(self.n_classes), np.zeros(self.n_classes)
        sum_variables(positives, table, self._sides, sums, ridges)
        norms = 0.5 * self.lam * (np.einsum("ij,ij->i", weights, weights) + constants**2)
        self._certified = weights, biases
        self.V[:], self.constants[:] = weights, constants
        return Certificate(norms + losses, self.lam * (sums - ridges) - norms)

    def _make_measure(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64]
    ) -> Callable[[NDArray[Any], range], NDArray[np.float64]]:
        """Return the function that sums the losses of each class over a range of rows, in float64.

        Where few variables of a class shard are positive, few scores are within the margin: scores
        in float32 then show which. The decision for a shard depends on its own classes only, so
        that values are the same, bit for bit, if the shard is trained alone.
        """
        coarse, shifts = weights.astype(np.float32), biases.astype(np.float32)
        sizes = np.sqrt(np.einsum("ij,ij->i", weights, weights) + biases**2)
        counts = np.zeros(self.n_classes, np.int64)
        count_columns(self.duals.table(), counts)
        most, loss = MAX_UNCERTAIN * self.rows.n_rows, DUAL_LOSSES[self.loss]

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            totals = np.zeros(self.n_classes)
            positive = np.zeros((self.n_classes, len(X)), np.bool_)
            mark_positives(self._positives, np.arange(some.start, some.stop), 0, positive)
            for shard in self.shards:
                own = positive[shard], self._sides[shard], totals[shard]
                if self.screened and counts[shard].mean() <= most:
                    S = coarse[shard] @ X.astype(np.float32, copy=False).T
                    S += shifts[shard, None]
                    errors = bound_errors(X, float(sizes[shard].max()))
                    if count_uncertain(S, own[0], errors) <= MAX_UNCERTAIN * S.size:
                        exact = weights[shard], biases[shard]
                        add_screened_losses(X, S, own[0], errors, *exact, own[1], loss, own[2])
                        continue
                S = X.astype(np.float64, copy=False) @ weights[shard].T
                S += biases[shard]
                sum_losses(S, own[0].T, own[1], loss, own[2])
            return totals

        return measure

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""
        return self._certified

    def running_model(self) -> LinearModel:
        """Return the model of the weights as the epochs left them, which rounding may have moved.

        It needs no certificate.
        """
        return LinearModel(
            self.V.astype(np.float32), (self.bias * self.constants).astype(np.float32)
        )

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam`; variables shrink if its bounds are smaller."""
        if lam > self.lam:
            factor = self.lam / lam
            self.duals.scale(factor)
            self.V *= factor
            self.constants *= factor
        self.lam = lam
        self._set_bounds()


def shards_in(own: range, n_classes: int) -> list[slice]:
    """Return the shards of all classes that lie in a range, counted from its first class."""
    return [
        slice(shard.start - own.start, shard.stop - own.start)
        for shard in class_shards(n_classes, SHARD)
        if shard.start in own
    ]


def restrict(sets: LabelSets, own: range, n_classes: int) -> LabelSets:
    """Return the labels that lie in a range of classes, counted from its first class."""
    numbers = np.full(n_classes, -1, np.int32)
    numbers[own] = np.arange(len(own))
    return sets.renumbered(numbers)


def row_weights(
    positives: NDArray[np.int64],
    n: int,
    beta: float | None,
    class_weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the weights of a negative and of a positive row, float64 of shape (n_classes, 2).

    Parameters
    ----------
    positives : int64 array of shape (n_classes,), how many of the `n` rows have each class.
    """
    weights = np.full((len(positives), 2), 1.0 / n)
    if beta is not None:
        positives = np.maximum(positives, 1)
        weights[:, 0] = beta / (1.0 + beta) / np.maximum(n - positives, 1)
        weights[:, 1] = 1.0 / (1.0 + beta) / positives
    if class_weights is not None:
        weights[:, 1] *= class_weights
    return weights
