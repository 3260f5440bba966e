"""The top-k multiclass SVM by Prox-SDCA in blocks  [TK, Algorithm 1].

Minimises ``lam/2 |W|^2 + 1/n sum_i loss_i`` through its dual, whose variables are kept sparse.
Epochs over all classes find which variables are not zero; cheaper epochs between them optimise
these alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.largest import SMALL_K
from myriad.objectives.topk import ENTROPY, sum_values
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.dual.ascent import Ascent, Certificate
from myriad.training.dual.gap_kernels import (
    GAP_SUMS,
    add_gap_sums,
    dot_columns,
    sum_conjugates,
    sum_squares,
)
from myriad.training.dual.screening_kernels import sum_screened_values
from myriad.training.dual.spaces import FeatureSpace, KernelSpace, Space
from myriad.training.dual.sparse_duals_kernels import SparseBlock
from myriad.training.dual.support_kernels import step_support
from myriad.training.dual.topk_kernels import TOPK, step_topk
from myriad.training.engine.chunks import Chunk
from myriad.training.engine.scores import score_rows

FULL_EPOCHS = 2
"""Epochs over all classes at first. Then come epochs over the support alone, which reduce the gap
as much in a fifth of the time with 500 classes of 1024 features."""
SUPPORT_GAP = 0.2
"""They end when the gap over the support is this fraction of the gap over all classes."""
SAMPLE = 2048
"""Minimum number of rows from whose scores an epoch estimates the gap."""


class TopKAscent(Ascent):
    """Trainer of the top-k SVM in the dual.

    Parameters
    ----------
    rows : features, or with `kernel` the rows of a Gram matrix.
    k : 1 to n_classes - 1.
    variant : number of the loss, see `TOPK_VARIANTS`.
    lam : regularisation strength.
    smoothing : gamma of the smoothed loss, 0 for the hinge.
    bias : value of a constant feature, 0 for none; not with `kernel`.
    dtype : of weights and scores in training.

    Attributes
    ----------
    uses_support : whether there are epochs over the support alone.
    support_only : whether the next epoch is over the support alone.
    """

    BLOCK = 48
    """Rows whose scores come from one product: the Gram matrices of larger blocks cost too much."""

    estimates = uses_support = True
    support_only = False

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        *,
        k: int,
        variant: int,
        lam: float,
        smoothing: float = 0.0,
        bias: float = 0.0,
        kernel: bool = False,
        dtype: Any = np.float32,
        block: int = BLOCK,
    ) -> None:
        super().__init__(rows, n_classes, lam=lam, dtype=dtype, block=block)
        kind = KernelSpace if kernel else FeatureSpace
        self.space: Space = kind(n_classes, rows.dim, bias=bias, dtype=dtype)
        self._setting = np.zeros(1, TOPK)
        self._setting["k"], self._setting["variant"] = k, variant
        self._setting["r"], self._setting["bias"] = 1.0 / (lam * rows.n_rows), bias
        self._setting["gamma"] = smoothing
        self._certified = np.zeros((0, 0)), np.zeros(0)
        self._square = 0.0  # of the weights
        self._gap_sums = np.zeros(1, GAP_SUMS)
        self._lam_epoch = 0  # the epoch in which lam was set
        self._support_target = np.inf  # gap over the support at which its epochs end
        shape = (block, n_classes)
        self._classes, self._values = np.empty(shape, np.int32), np.empty(shape)
        self._changed, self._steps = np.empty(shape, np.int32), np.empty(shape, dtype)
        self._counts, self._n_changed = np.empty(block, np.int32), np.empty(block, np.int32)

    def _with_grams(self) -> bool:
        return isinstance(self.space, FeatureSpace) and not self.support_only

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Train for one more epoch, over the support alone if `support_only`, else all classes."""
        self._gap_sums[...] = 0
        super().run_epoch(rows, seed=seed, pool=pool, advance=advance)
        self.estimate = self._estimate()
        if not self.support_only:
            self._support_target = SUPPORT_GAP * self.estimate
        begun = self.epoch - self._lam_epoch >= FULL_EPOCHS and isinstance(self.space, FeatureSpace)
        self.support_only = self.uses_support and begun and self.estimate > self._support_target

    def _estimate(self) -> float:
        """Return the relative gap over the rows in `_gap_sums`  [TK, Theorem 1]."""
        sums = self._gap_sums[0]
        loss, square, conjugate = (
            sums[name] / sums["n_rows"] for name in ("loss", "product", "conjugates")
        )
        square, conjugate = (self.lam * self.rows.n_rows) * np.array([square, conjugate])
        primal = max(loss + 0.5 * square, np.finfo(np.float64).tiny)
        return float((loss + square + conjugate) / primal)

    def _add_gap_sums(
        self, S: NDArray[Any], labels: NDArray[np.int32], variables: SparseBlock, start: int
    ) -> None:
        """Add a regular sample of a block to `_gap_sums`; `start` is its position in the epoch."""
        every = max(1, self.rows.n_rows // SAMPLE)
        add_gap_sums(S, labels, variables, self._gap_sums, self._setting, -start % every, every)

    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        if self.support_only:
            self._step_support(chunk)
        else:
            self._step_blocks(chunk, pool)

    def _step_support(self, chunk: Chunk) -> None:
        """Train on a chunk over the variables that are not zero; see `support_kernels`."""
        step_support(
            chunk.X,
            chunk.index,
            chunk.labels,
            self.duals.table(),
            self.space.V,
            self.space.constants,
            self._gap_sums,
            self._setting,
        )

    def _step_blocks(self, chunk: Chunk, pool: ThreadPool) -> None:
        """Train on a chunk over all classes."""
        for number, block in enumerate(chunk.blocks(self.block)):
            X, index, labels = chunk.X[block], chunk.index[block], chunk.labels[block]
            S = self.space.score(chunk, number, block, pool)
            counts, n_changed = self._counts[: len(X)], self._n_changed[: len(X)]
            variables = SparseBlock(self._classes, self._values, counts)
            self.duals.load(index, variables)
            changes = SparseBlock(self._changed, self._steps, n_changed)
            self._add_gap_sums(S, labels, variables, chunk.start + block.start)
            gram = self.space.gram(chunk, number, block, index)
            step_topk(gram, labels, S, variables, changes, self._setting)
            self.duals.store(index, variables)
            self.space.add(X, index, changes)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Set the weights to those of the variables; return the primal and dual values."""
        weights, constants = self.space.rebuild(self.rows, self.duals, pool)
        biases = self.space.bias * constants
        screened = isinstance(self.space, FeatureSpace) and self.dtype == np.float32
        hinge = self._setting["variant"][0] != ENTROPY and self._setting["gamma"][0] == 0.0
        if screened and hinge and self._setting["k"][0] <= SMALL_K:
            loss, square = self._sum_screened(weights, constants, biases, pool)
        else:
            loss, square = self._sum_exact(weights, biases, pool)
        conjugates = sum_conjugates(self.duals.table(), self._setting)
        self._certified, self._square = (weights, biases), square
        self.space.V[:], self.space.constants[:] = weights, constants
        self.support_only = False  # if training continues, the gap is larger than expected
        norm = 0.5 * self.lam * square
        return Certificate(
            np.array([norm + loss / self.rows.n_rows]), np.array([-self.lam * conjugates - norm])
        )

    def _sum_exact(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64], pool: ThreadPool
    ) -> tuple[float, float]:
        """Return the sum of the losses and the squared norm, from all scores in float64."""
        setting, table = self._setting[0], self.duals.table()

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            S = X.astype(np.float64, copy=False) @ weights.T
            S += biases
            labels = self.rows.labels[some.start : some.stop]
            loss = sum_values(S, labels, setting["k"], setting["variant"], setting["gamma"])
            return np.array([loss, dot_columns(S, labels, table, some.start)])

        loss, square = self.sum_ranges(measure, pool)
        return float(loss), float(square)

    def _sum_screened(
        self,
        weights: NDArray[np.float64],
        constants: NDArray[np.float64],
        biases: NDArray[np.float64],
        pool: ThreadPool,
    ) -> tuple[float, float]:
        """Return what `_sum_exact` does, with float64 scores only where float32 cannot decide."""
        setting, coarse = self._setting[0], weights.astype(np.float32)
        shifts = biases.astype(np.float32)
        squares = np.einsum("ij,ij->i", weights, weights)
        size = math.sqrt(float((squares + biases**2).max()))

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            S = score_rows(np.ascontiguousarray(X, np.float32), coarse)
            S += shifts
            labels = self.rows.labels[some.start : some.stop]
            kind = setting["k"], setting["variant"]
            return np.array(sum_screened_values(X, S, labels, weights, biases, size, *kind))

        return float(self.sum_ranges(measure, pool)), float((squares + constants**2).sum())

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""
        return self._certified

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam` from the best feasible multiple of the variables."""
        factor = self._find_factor(lam)
        self.duals.scale(factor)
        self.space.V *= factor
        self.space.constants *= factor
        self.lam, self._lam_epoch, self.support_only = lam, self.epoch, False
        self._setting["r"] = 1.0 / (lam * self.rows.n_rows)

    def _find_factor(self, lam: float) -> float:
        """Return the factor of the variables with the largest dual value for another `lam`."""
        most = self.lam / lam  # ratio of the radii of the feasible sets
        table, (gamma, r) = self.duals.table(), self._setting[["gamma", "r"]][0]
        squares = gamma / r * sum_squares(table)
        total = 0.5 * squares - sum_conjugates(table, self._setting)  # of the variables
        curvature = self._square + squares / most
        return min(total / curvature, most) if curvature > 0.0 else most
