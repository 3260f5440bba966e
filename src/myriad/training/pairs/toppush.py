"""TopPush: positives above the highest of all negatives, by accelerated gradients in the dual.

With pairs (i, y_i) as positives and all others as negatives it minimises [TK, 2.3; Li, Jin, Zhou
2014]::

    P(W) = lam/2 |W|^2 + 1/n sum_i l(max over wrong pairs (j, c) of s_jc - s_{i, y_i})

with ``l(z) = max(0, 1 + z)^2``. The variables of the dual are A >= 0 of shape (n, C), those of the
positives (alpha) and those of the negatives (beta), with ``sum alpha = sum beta``. With M = A on
the positives and -A elsewhere::

    W = M' X / (lam n)        D(A) = -lam/2 |W|^2 + 1/n sum_i (alpha_i - alpha_i^2 / 4)

One-vs-all instead ranks the rows for each class separately: one problem for each column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.dual.ascent import Certificate
from myriad.training.pairs.shift import shift_to_balance
from myriad.training.pairs.trainer import PairTrainer
from myriad.training.settings import mean_square

GROWTH, SHRINKAGE = 2.0, 0.95
"""Factors of the curvature bound: after a step that was too long, and after each epoch."""


class TopPushAscent(PairTrainer):
    """Trainer of TopPush in the dual; an epoch is one step of Nesterov's method.

    Parameters
    ----------
    per_class : whether each class is a separate problem.

    Attributes
    ----------
    A : float64 (n_rows, n_classes), the variables.
    """

    def __init__(
        self, rows: Rows, n_classes: int, *, lam: float, bias: float, per_class: bool
    ) -> None:
        super().__init__(rows, n_classes, lam=lam, bias=bias)
        self._own = np.arange(rows.n_rows), rows.labels
        self.problems = np.arange(n_classes) if per_class else np.zeros(n_classes, np.int64)
        self.A = np.zeros((rows.n_rows, n_classes))
        self._before = self.A.copy()
        self._W = np.zeros((n_classes, rows.dim + 1))
        self._W_before = self._W.copy()
        self._shifts = np.zeros(int(self.problems[-1]) + 1)
        self._momentum = 1.0
        self._square = mean_square(rows) + bias**2
        self._curvature = 0.5 + self._square / (lam * rows.n_rows)

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Make one step; it is the same for every seed."""
        momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
        ahead = (self._momentum - 1.0) / momentum
        Y = self.A + ahead * (self.A - self._before)
        W = self._W + ahead * (self._W - self._W_before)
        A, new = self._step(Y, W, pool)
        # The momentum is lost where it leads away from the direction of the step.
        if np.vdot(Y - A, A - self.A) > 0.0:
            momentum = 1.0
        self._before, self.A = self.A, A
        self._W_before, self._W = self._W, new
        self._momentum = momentum
        self._curvature *= SHRINKAGE
        self.epoch += 1
        advance(self.rows.n_rows)

    def _step(
        self, Y: NDArray[np.float64], W: NDArray[np.float64], pool: ThreadPool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variables after a projected gradient step from `Y`, and their weights.

        The step is short enough if the quadratic part of -n D grows by at most its bound:
        ``lam n |dW|^2 + |d alpha|^2 / 2 <= curvature |dA|^2``.
        """
        S = self.score(self.rows, W, pool)
        uphill = S.astype(np.float64)
        uphill[self._own] = 1.0 - 0.5 * Y[self._own] - S[self._own]
        while True:
            A = Y + uphill / self._curvature
            shift_to_balance(A, self.rows.labels, self.problems, self._shifts)
            new = self.combine(self.rows, self._signed(A), pool) / (self.lam * self.rows.n_rows)
            own = A[self._own] - Y[self._own]
            curved = self.lam * self.rows.n_rows * ((new - W) ** 2).sum() + 0.5 * (own @ own)
            if not curved > (1.0 + 1e-6) * self._curvature * ((A - Y) ** 2).sum():
                return A, new
            self._curvature *= GROWTH

    def _signed(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        M = -A
        M[self._own] *= -1.0
        return M

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Set the weights to those of the variables; return the values of each problem."""
        n, count = self.rows.n_rows, len(self._shifts)
        self._W = self.combine(self.rows, self._signed(self.A), pool, np.float64) / (self.lam * n)
        self._certified = self._W
        S = self.score(self.rows, self._W, pool, np.float64)
        true, own = S[self._own], self.problems[self.rows.labels]
        S[self._own] = -np.inf
        highest = np.full(count, -np.inf)
        np.maximum.at(highest, self.problems, S.max(axis=0))
        loss = np.maximum(0.0, 1.0 + highest[own] - true) ** 2
        alpha = self.A[self._own]
        norms = 0.5 * self.lam * np.bincount(self.problems, (self._W**2).sum(axis=1), count)
        gained = np.bincount(own, alpha - 0.25 * alpha**2, count) / n
        return Certificate(norms + np.bincount(own, loss, count) / n, gained - norms)

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam` from the current weights."""
        self.A *= lam / self.lam
        self._before, self._W_before = self.A.copy(), self._W.copy()
        self._momentum, self.lam = 1.0, lam
        self._curvature = 0.5 + self._square / (lam * self.rows.n_rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the variables of the last two epochs, after a certificate."""
        numbers = np.array([self._momentum, self._curvature])
        return {
            "variables": self.A,
            "before": self._before,
            "weights_before": self._W_before,
            "numbers": numbers,
            "shifts": self._shifts,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned; `certify` then computes the weights."""
        self.A, self._before = arrays["variables"].copy(), arrays["before"].copy()
        self._W_before = arrays["weights_before"].copy()
        self._momentum, self._curvature = (float(number) for number in arrays["numbers"])
        self._shifts = arrays["shifts"].copy()
