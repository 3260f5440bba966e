"""The top-k multiclass SVM by Prox-SDCA in blocks  [TK, Algorithm 1].

Minimises ``lam/2 |W|^2 + 1/n sum_i loss_i`` through its dual, whose variables are kept sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives.topk import sum_values
from myriad.parallel import Team
from myriad.store import Rows
from myriad.training.ascent import Ascent, Certificate
from myriad.training.chunks import Chunk
from myriad.training.spaces import FeatureSpace, KernelSpace, Space
from myriad.training.topk_kernels import TOPK, dot_columns, step_topk, sum_conjugates

BLOCK = 64
"""Rows whose scores come from one product: the Gram matrices of larger blocks cost too much."""


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
    """

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
        self._setting["r"] = 1.0 / (lam * rows.n_rows)
        self._certified = np.zeros((0, 0)), np.zeros(0)
        self._square = self._total = 0.0  # of the weights, and of the variables
        shape = (block, n_classes)
        self._classes, self._values = np.empty(shape, np.int32), np.empty(shape)
        self._changed, self._steps = np.empty(shape, np.int32), np.empty(shape, dtype)
        self._scores = np.empty(shape, dtype)
        self._counts, self._n_changed = np.empty(block, np.int32), np.empty(block, np.int32)

    def _with_grams(self) -> bool:
        return isinstance(self.space, FeatureSpace)

    def _step_chunk(self, chunk: Chunk, numbers: NDArray[np.int64], team: Team) -> None:
        for number, part in enumerate(chunk.blocks(self.block)):
            X, index = chunk.X[part], numbers[part]
            S = self._scores[: len(X)]
            self.space.score(X, S, team)
            counts, n_changed = self._counts[: len(X)], self._n_changed[: len(X)]
            self.duals.load(index, self._classes, self._values, counts)
            step_topk(
                self.space.gram(chunk, number, part, index),
                self.rows.labels[index],
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

    def _certify(self, team: Team) -> Certificate:
        """Make the weights anew from the variables, and return the values of both."""
        weights, constants = self.space.rebuild(self.rows, self.duals, team)
        biases, table = self.space.bias * constants, self.duals.table()
        setting = self._setting[0]

        def measure(X: NDArray[np.float64], some: range) -> NDArray[np.float64]:
            S = X @ weights.T
            S += biases
            labels = self.rows.labels[some.start : some.stop]
            loss = sum_values(S, labels, setting["k"], setting["variant"])
            return np.array([loss, dot_columns(S, labels, *table, some.start)])

        loss, square = self.sum_ranges(measure, team)
        conjugates = sum_conjugates(self.duals.starts, self.duals.counts, table[3], self._setting)
        self._certified, self._square, self._total = (weights, biases), square, -conjugates
        self.space.V[:], self.space.constants[:] = weights, constants
        norm = 0.5 * self.lam * square
        return Certificate(
            np.array([norm + loss / self.rows.n_rows]), np.array([-self.lam * conjugates - norm])
        )

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
        self.lam = lam
        self._setting["r"] = 1.0 / (lam * self.rows.n_rows)
