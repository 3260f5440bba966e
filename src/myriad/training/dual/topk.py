"""The top-k multiclass SVM by Prox-SDCA in blocks  [TK, Algorithm 1].

Minimises ``lam/2 |W|^2 + 1/n sum_i loss_i`` through its dual, whose variables are kept sparse.
Passes over all classes find which variables are not zero; between them, cheaper passes set these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives.largest import FEW
from myriad.objectives.topk import sum_values
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.dual.ascent import Ascent, Certificate
from myriad.training.dual.screening_kernels import sum_screened_values
from myriad.training.dual.spaces import FeatureSpace, KernelSpace, Space
from myriad.training.dual.support_kernels import step_support
from myriad.training.dual.topk_kernels import (
    TOPK,
    dot_columns,
    step_topk,
    sum_conjugates,
    tally_gap,
)
from myriad.training.engine.chunks import Chunk

BLOCK = 48
"""Rows whose scores come from one product: the Gram matrices of larger blocks cost too much."""
WIDE = 2
"""The first passes over all classes. Then come passes over the support alone, which bring the gap
down as far for a fifth of the time with 500 classes of 1024 features, until the gap among the
support is small, as a part of that among all classes when they were last looked at:"""
SETTLED = 0.2
SAMPLE = 2048
"""Rows from whose scores the gap is estimated on the way, at least (if there are so many)."""


class TopKAscent(Ascent):
    """The dual of the top-k SVM.

    Parameters
    ----------
    rows : features, or with `kernel` the rows of a Gram matrix.
    k : 1 to n_classes - 1.
    variant : number of the loss, see `TOPK_VARIANTS`.
    lam : weight of the squared norm.
    bias : value of a constant feature, 0 for none; not with `kernel`.
    dtype : of weights and scores in training.

    Attributes
    ----------
    narrow : whether the coming pass is over the support alone.
    """

    estimates = True
    narrow = False

    def __init__(
        self,
        rows: Rows,
        n_classes: int,
        *,
        k: int,
        variant: int,
        lam: float,
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
        self._certified = np.zeros((0, 0)), np.zeros(0)
        self._square = self._total = 0.0  # of the weights, and of the variables
        self._tally = np.zeros(4)
        self._begun = 0  # the epoch at which lam was set
        self._target = np.inf  # of the gap among the support
        shape = (block, n_classes)
        self._classes, self._values = np.empty(shape, np.int32), np.empty(shape)
        self._changed, self._steps = np.empty(shape, np.int32), np.empty(shape, dtype)
        self._counts, self._n_changed = np.empty(block, np.int32), np.empty(block, np.int32)

    def _with_grams(self) -> bool:
        return isinstance(self.space, FeatureSpace) and not self.narrow

    def run_epoch(self, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once over the rows: with all classes, or if `narrow` with those of the support."""
        self._tally[:] = 0.0
        super().run_epoch(seed=seed, pool=pool, advance=advance)
        self.estimate = self._estimate()
        if not self.narrow:
            self._target = SETTLED * self.estimate
        begun = self.epoch - self._begun >= WIDE and isinstance(self.space, FeatureSpace)
        self.narrow = begun and self.estimate > self._target

    def _estimate(self) -> float:
        """Return the relative gap as the rows tallied met it  [TK, Theorem 1]."""
        loss, square, total = self._tally[:3] / self._tally[3]
        square, total = (self.lam * self.rows.n_rows) * np.array([square, total])
        return float((loss + square - total) / max(loss + 0.5 * square, np.finfo(np.float64).tiny))

    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        if self.narrow:
            self._step_support(chunk)
        else:
            self._step_blocks(chunk, pool)

    def _step_support(self, chunk: Chunk) -> None:
        """Step through a chunk over the variables that are not zero."""
        starts, counts, classes, values = self.duals.table()
        step_support(
            chunk.X,
            chunk.index,
            chunk.labels,
            (starts, counts),
            classes,
            values,
            self.space.V,
            self.space.constants,
            self._tally,
            self._setting,
        )

    def _step_blocks(self, chunk: Chunk, pool: ThreadPool) -> None:
        """Step through a chunk over all classes."""
        every = max(1, self.rows.n_rows // SAMPLE)
        for number, part in enumerate(chunk.blocks(self.block)):
            X, index, labels = chunk.X[part], chunk.index[part], chunk.labels[part]
            S = self.space.score(chunk, number, part, pool)
            counts, n_changed = self._counts[: len(X)], self._n_changed[: len(X)]
            self.duals.load(index, self._classes, self._values, counts)
            first = -(chunk.start + part.start) % every
            tally_gap(
                S,
                labels,
                self._classes,
                self._values,
                counts,
                self._tally,
                self._setting,
                first,
                every,
            )
            step_topk(
                self.space.gram(chunk, number, part, index),
                labels,
                S,
                self._classes,
                self._values,
                counts,
                self._changed,
                self._steps,
                n_changed,
                self._setting,
            )
            self.duals.store(index, self._classes, self._values, counts)
            self.space.add(X, index, self._changed, self._steps, n_changed)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables, and return the values of both."""
        weights, constants = self.space.rebuild(self.rows, self.duals, pool)
        biases = self.space.bias * constants
        screened = isinstance(self.space, FeatureSpace) and self.dtype == np.float32
        if screened and self._setting["k"][0] <= FEW:
            loss, square = self._sum_screened(weights, constants, biases, pool)
        else:
            loss, square = self._sum_plainly(weights, biases, pool)
        conjugates = sum_conjugates(
            self.duals.starts, self.duals.counts, self.duals.values, self._setting
        )
        self._certified, self._square, self._total = (weights, biases), square, -conjugates
        self.space.V[:], self.space.constants[:] = weights, constants
        self.narrow = False  # the gap is above what was hoped for, if training goes on
        norm = 0.5 * self.lam * square
        return Certificate(
            np.array([norm + loss / self.rows.n_rows]), np.array([-self.lam * conjugates - norm])
        )

    def _sum_plainly(
        self, weights: NDArray[np.float64], biases: NDArray[np.float64], pool: ThreadPool
    ) -> tuple[float, float]:
        """Return the sum of the losses and the squared norm, from all scores in float64."""
        setting, table = self._setting[0], self.duals.table()

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            S = X.astype(np.float64, copy=False) @ weights.T
            S += biases
            labels = self.rows.labels[some.start : some.stop]
            loss = sum_values(S, labels, setting["k"], setting["variant"])
            return np.array([loss, dot_columns(S, labels, *table, some.start)])

        loss, square = self.sum_ranges(measure, pool)
        return float(loss), float(square)

    def _sum_screened(
        self,
        weights: NDArray[np.float64],
        constants: NDArray[np.float64],
        biases: NDArray[np.float64],
        pool: ThreadPool,
    ) -> tuple[float, float]:
        """Return the same, with scores in float64 only where those of float32 leave it open."""
        setting, coarse = self._setting[0], weights.astype(np.float32)
        shifts = biases.astype(np.float32)
        squares = np.einsum("ij,ij->i", weights, weights)
        size = math.sqrt(float((squares + biases**2).max()))

        def measure(X: NDArray[Any], some: range) -> NDArray[np.float64]:
            S = X.astype(np.float32, copy=False) @ coarse.T
            S += shifts
            labels = self.rows.labels[some.start : some.stop]
            kind = setting["k"], setting["variant"]
            return np.array(sum_screened_values(X, S, labels, weights, biases, size, *kind))

        return float(self.sum_ranges(measure, pool)), float((squares + constants**2).sum())

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""
        return self._certified

    def change_lam(self, lam: float) -> None:
        """Go on with another `lam`, from the best multiple of the variables that it allows."""
        most = self.lam / lam  # the new set is so many times as large
        best = self._total / self._square if self._square > 0.0 else most
        factor = min(best, most)
        self.duals.scale(factor)
        self.space.V *= factor
        self.space.constants *= factor
        self.lam, self._begun, self.narrow = lam, self.epoch, False
        self._setting["r"] = 1.0 / (lam * self.rows.n_rows)
