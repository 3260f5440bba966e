"""Coordinate descent in the primal: one class against the rest, one feature after the other [LS].

For each class it minimises ``P(w) = lam/2 |w|^2 + 1/n sum_i loss(z_i w.x_i)`` with a smooth loss.
P is strongly convex, so that ``P(w) - |grad P(w)|^2 / (2 lam)`` is a lower bound of the optimum:
for these losses it is the value of the dual at the variables that belong to w.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives import SMOOTH_LOSSES
from myriad.objectives.binary import curvature_bound
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.dual.ascent import Certificate
from myriad.training.engine.shards import class_shards
from myriad.training.pairs.trainer import PairTrainer, divide
from myriad.training.primal.coordinate_kernels import descend, sum_losses

SHARD = 16
"""Classes that one thread trains at a time."""


class CoordinateDescent(PairTrainer):
    """Trainer by coordinate descent: an epoch changes every weight once.

    The rows are held in memory, and a score for each pair of a row and a class.

    Parameters
    ----------
    loss : a name in `SMOOTH_LOSSES`.

    Attributes
    ----------
    W : float64 array of shape (n_classes, dim + 1); the last feature is the constant one.
    scores : float64 array of shape (n_classes, n_rows).
    """

    advice = "train on fewer rows, or use the objective dual"

    def __init__(self, rows: Rows, n_classes: int, *, lam: float, bias: float, loss: str) -> None:
        super().__init__(rows, n_classes, lam=lam, bias=bias)
        self.loss = SMOOTH_LOSSES[loss]
        self._curvature = curvature_bound(loss)
        self.W = np.zeros((n_classes, rows.dim + 1))
        self.scores = np.zeros((n_classes, rows.n_rows))
        self._features = np.full((rows.dim + 1, rows.n_rows), bias, np.float32)
        for some in divide(rows):
            self._features[:-1, some.start : some.stop] = rows.read(some).T
        self._signs = np.full(self.scores.shape, -1, np.int8)
        self._signs[rows.labels, np.arange(rows.n_rows)] = 1
        squares = np.einsum("ji,ji->j", self._features, self._features, dtype=np.float64)
        self._mean_squares = squares / rows.n_rows

    def run_epoch(self, rows: Rows, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Change every weight once, in the order of features that the seed gives."""
        order = generator(seed, f"features {self.epoch}").permutation(len(self._features))
        bounds = self.lam + self._curvature * self._mean_squares

        def work(shard: slice) -> None:
            descend(
                self._features,
                order,
                bounds,
                self.loss,
                self.lam,
                self._signs[shard],
                self.W[shard],
                self.scores[shard],
            )

        pool.share(work, class_shards(self.n_classes, SHARD))
        self.epoch += 1
        advance(self.rows.n_rows)

    def _certify(self, pool: ThreadPool) -> Certificate:
        """Recompute the scores in float64; return the values, with gradients for the bounds."""
        n_rows = self.rows.n_rows
        self.scores[...] = self.score(self.rows, self.W, pool, np.float64).T
        steps, values = np.empty((n_rows, self.n_classes)), np.zeros(self.n_classes)
        sum_losses(self._signs, self.scores, self.loss, values, steps)
        gradient = self.lam * self.W - self.combine(self.rows, steps, pool, np.float64) / n_rows
        primals = values / n_rows + 0.5 * self.lam * np.square(self.W).sum(axis=1)
        self._certified = self.W.copy()
        return Certificate(primals, primals - np.square(gradient).sum(axis=1) / (2 * self.lam))

    def change_lam(self, lam: float) -> None:
        """Continue with another `lam` from the current weights."""
        self.lam = lam

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights."""
        return {"W": self.W}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the weights; `certify` then computes the scores."""
        self.W[...] = arrays["W"]
