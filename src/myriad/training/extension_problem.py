"""The problem of classes that are trained beside fixed ones: its loss and its minimum.

The probability of class c is proportional to ``exp(scale s_c)``, where the scores of the fixed
classes stay as they are and `scale` is their inverse temperature. The fixed classes of a row then
enter only by the logarithm of the sum of their exponentials, one value per row. So the problem is
convex in the trained weights, and its size does not depend on the number of fixed classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from myriad.arrays import Float, Ints
from myriad.models import LinearModel, Model
from myriad.panels import add_rows, count_panels, multiply_transposed, pack_columns, pack_rows
from myriad.parallel import ThreadPool
from myriad.randomness import generator
from myriad.tiles import LANES

TOL, WINDOW = 0.02, 5
"""The optimiser stops when this many last iterations have lowered the objective by less
than this fraction of it; accuracy does not change below it. A single iteration says too little:
the first one from an earlier solution is short."""
MAX_STEPS = 100
"""Maximum number of iterations of the optimiser."""
FIXED_ROWS, FIXED_SHARE = 4096, 2
"""Maximum number of rows of fixed classes: the first, or the second for each row of a trained class
if that is more. If there are more rows, a sample is used with larger weights."""
PARTS = 8
"""Parts of the rows whose gradients are summed one after the other, for any number of threads."""
BLOCK_ROWS = 256
"""Rows that are packed and multiplied together."""

PackedBlock = tuple[slice, NDArray[np.float32]]
"""Some of the rows of a problem, and their panels."""


@dataclass(frozen=True, eq=False)
class FixedScores:
    """The scores of the fixed classes for some rows, multiplied by `scale`, in two numbers each.

    Attributes
    ----------
    true : float64 array of shape (n_rows,), the score of the row's own class; -inf if that is not
        a fixed one.
    others : float64 array of shape (n_rows,), the logarithm of the sum of the exponentials of the
        other scores.
    """

    true: NDArray[np.float64]
    others: NDArray[np.float64]

    @classmethod
    def of(
        cls, model: Model, X: Float, labels: Ints, scale: float, pool: ThreadPool
    ) -> FixedScores:
        """Return the scores of the classes of a model for rows; label -1 is none of them."""
        true, others = np.empty((2, len(X)))

        def score(start: int) -> None:
            some = slice(start, start + BLOCK_ROWS)
            logits = scale * model.scores(X[some]).astype(np.float64)
            own, rows = labels[some], np.arange(len(logits))
            true[some] = np.where(own >= 0, logits[rows, own], -np.inf)
            logits[rows[own >= 0], own[own >= 0]] = -np.inf
            top = logits.max(axis=1)
            others[some] = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))

        pool.share(score, range(0, len(X), BLOCK_ROWS))
        return cls(true, others)

    @property
    def log_sums(self) -> NDArray[np.float64]:
        """The logarithm of the sum of the exponentials of all scores."""
        return np.logaddexp(self.true, self.others)

    def select(self, rows: NDArray[np.int64]) -> FixedScores:
        """Return the scores of some of the rows."""
        return FixedScores(self.true[rows], self.others[rows])

    def like_held_out(self, margins: NDArray[np.float64]) -> FixedScores:
        """Return scores whose lead of the true class is distributed as that of held-out rows.

        A model fits the rows that it was trained on better than others. So the rows of fixed
        classes keep their order by this lead, but get the leads of held-out rows: new classes that
        are trained beside the old ones would otherwise get too high scores.

        Parameters
        ----------
        margins : ``true - others`` of held-out rows of the fixed classes.
        """
        known = np.flatnonzero(np.isfinite(self.true))
        order = known[np.argsort(self.true[known] - self.others[known], kind="stable")]
        positions = (np.arange(len(order)) + 0.5) / max(len(order), 1)
        true = self.true.copy()
        true[order] = self.others[order] + np.quantile(margins, positions)
        return FixedScores(true, self.others)


class Problem:
    """The regularised log loss of rows as a function of the new weights, all in memory.

    Parameters
    ----------
    targets : int array of shape (n_rows,), the new class of each row, negative for fixed ones.
    weights : float64 array of shape (n_rows,), for how many rows each one counts; 1 by default.
    """

    def __init__(
        self,
        X: Float,
        targets: Ints,
        n_trained: int,
        fixed: FixedScores,
        scale: float,
        anchor: LinearModel | None,
        pool: ThreadPool,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self.X, self.targets, self.n_trained, self.fixed = X, targets, n_trained, fixed
        self.scale, self.anchor, self.pool = scale, anchor, pool
        self.weights = np.ones(len(X)) if weights is None else weights
        self.total = float(self.weights.sum())
        self.log_sums = fixed.log_sums
        self.mean = np.einsum("i,ij->j", self.weights, X, dtype=np.float64) / self.total
        square = float(self.weights @ np.einsum("ij,ij->i", X, X)) / self.total
        self.square = max(square - float(self.mean @ self.mean), 1e-30)
        self.centre = np.zeros((n_trained, X.shape[1]))
        if anchor is not None:
            self.centre[:] = scale * anchor.weights.astype(np.float64)

    @cached_property
    def blocks(self) -> list[list[PackedBlock]]:
        """The packed blocks of each part of the rows."""
        bounds = np.linspace(0, len(self.X), PARTS + 1).astype(int)
        return [self._pack(first, stop) for first, stop in pairwise(bounds.tolist())]

    def _pack(self, first: int, stop: int) -> list[PackedBlock]:
        starts = range(first, stop, BLOCK_ROWS)
        blocks = [slice(start, min(start + BLOCK_ROWS, stop)) for start in starts]
        return [(rows, pack_rows(self.X[rows])) for rows in blocks]

    def select(
        self, rows: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> Problem:
        """Return the problem of some of the rows, each with another weight if some are given."""
        return Problem(
            self.X[rows],
            self.targets[rows],
            self.n_trained,
            self.fixed.select(rows),
            self.scale,
            self.anchor,
            self.pool,
            self.weights[rows] if weights is None else weights,
        )

    def thinned(self, seed: int) -> Problem:
        """Return the problem with fewer rows of fixed classes, if there are many."""
        old, new = np.flatnonzero(self.targets < 0), np.flatnonzero(self.targets >= 0)
        most = max(FIXED_ROWS, FIXED_SHARE * len(new))
        if len(old) <= most:
            return self
        drawn = generator(seed, "rows of fixed classes").permutation(old)[:most]
        rows = np.sort(np.concatenate([drawn, new]))
        return self.select(rows, np.where(self.targets[rows] < 0, len(old) / most, 1.0))

    def start(self) -> NDArray[np.float64]:
        """Return the initial parameters: the anchor, or equal scores for all classes."""
        found = np.empty((self.n_trained, self.X.shape[1] + 1))
        found[:, :-1] = self.centre
        if self.anchor is not None:
            found[:, -1] = self.scale * self.anchor.biases + self.centre @ self.mean
        else:
            share = float(self.weights @ (self.targets >= 0)) / self.total
            share = max(share, 1e-9) / self.n_trained
            found[:, -1] = float(np.median(self.log_sums)) + np.log(share)
        return found

    def minimise(self, lam: float, start: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the parameters with the least loss: weights for centred rows, then biases."""
        values: list[float] = []

        def stop(intermediate_result: Any) -> None:
            values.append(float(intermediate_result.fun))
            if len(values) > WINDOW and values[-1 - WINDOW] - values[-1] < TOL * values[-1]:
                raise StopIteration

        found = minimize(
            lambda flat: self.value(flat.reshape(start.shape), lam),
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={"maxiter": MAX_STEPS, "maxcor": 8, "ftol": 0.0, "gtol": 0.0},
        )
        solution: NDArray[np.float64] = found.x.reshape(start.shape)
        return solution

    def make_model(self, parameters: NDArray[np.float64]) -> LinearModel:
        """Return the model for rows as they are, with scores on the scale of the fixed classes."""
        W, b = self.uncentre(parameters / self.scale)
        return LinearModel(W.astype(np.float32), b.astype(np.float32))

    def uncentre(
        self, parameters: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights and biases for rows from which the mean is not subtracted."""
        W = parameters[:, :-1]
        return W, parameters[:, -1] - W @ self.mean

    def value(
        self, parameters: NDArray[np.float64], lam: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, flat.

        The objective is the mean log loss plus ``lam square / 2 |W - anchor|^2``; biases are
        free.
        """
        W, b = self.uncentre(parameters)
        W32 = W.astype(np.float32)
        found: list[tuple[float, Float, NDArray[np.float64]]] = [None] * PARTS  # type: ignore[list-item]

        def work(number: int) -> None:
            found[number] = self._measure(self.blocks[number], W32, b)

        self.pool.share(work, range(PARTS))
        loss, by_bias = sum(part[0] for part in found), sum(part[2] for part in found)
        gradient = np.zeros_like(parameters)
        for part in found:
            gradient[:, :-1] += part[1]
        gradient[:, -1] = by_bias
        gradient[:, :-1] -= np.outer(gradient[:, -1], self.mean)
        gradient /= self.total
        ridge = lam * self.square
        away = parameters[:, :-1] - self.centre
        gradient[:, :-1] += ridge * away
        penalty = 0.5 * ridge * float(np.square(away).sum())
        return loss / self.total + penalty, gradient.ravel()

    def _measure(
        self, blocks: Sequence[PackedBlock], W: Float, b: NDArray[np.float64]
    ) -> tuple[float, Float, NDArray[np.float64]]:
        """Return the loss of some rows, and its derivatives by the scores times the rows."""
        loss, by_bias, (n, dim) = 0.0, np.zeros(len(b)), W.shape
        gradient = np.zeros((count_panels(n), dim, LANES), np.float32)
        for rows, panels in blocks:
            targets, weights = self.targets[rows], self.weights[rows]
            scores = np.empty((len(targets), n), np.float32)
            multiply_transposed(W, panels, scores, 0)
            part, derivatives = sum_losses(
                scores.astype(np.float64) + b, self.log_sums[rows], targets, weights
            )
            steps = np.zeros((len(gradient), LANES * len(panels), LANES), np.float32)
            steps[:, : len(targets)] = pack_columns(derivatives.astype(np.float32))
            add_rows(panels, steps, gradient)
            loss += part
            by_bias += derivatives.sum(axis=0)
        return loss, gradient.swapaxes(1, 2).reshape(-1, dim)[:n], by_bias


def sum_losses(
    logits: NDArray[np.float64],
    log_sums: NDArray[np.float64],
    targets: Ints,
    weights: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Return the sum of the log losses of rows, and its derivatives by the logits.

    For a row of a fixed class, only the total probability of the fixed classes matters.

    Parameters
    ----------
    logits : of the trained classes, (n_rows, n_trained).
    log_sums : the logarithm of the sum of the exponentials of the logits of the fixed classes.
    targets : the trained class of each row, negative for fixed ones.
    weights : for how many rows each one counts.
    """
    top = np.maximum(logits.max(axis=1), log_sums)
    derivatives = np.exp(logits - top[:, None])
    sums = derivatives.sum(axis=1) + np.exp(log_sums - top)
    own = np.flatnonzero(targets >= 0)
    true = log_sums.copy()
    true[own] = logits[own, targets[own]]
    derivatives *= (weights / sums)[:, None]
    derivatives[own, targets[own]] -= weights[own]
    return float(weights @ (top + np.log(sums) - true)), derivatives
