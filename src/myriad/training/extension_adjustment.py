"""Scores of new classes, adjusted to those of fixed ones on held-out rows.

Weights of few rows are too small or too large, and fixed classes fit the rows that they were
trained on better than others: new scores that are right on training rows are not on other rows.
Two numbers for all new classes, a factor and a shift, have the least log loss on rows that were
held out; the loss is convex in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from myriad.arrays import Float, Ints
from myriad.randomness import generator
from myriad.training.extension_problem import sum_losses

PENALTY = 0.3
"""Penalty on the squares of the shift and of the change of the factor in the sum of log losses: it
only holds them where the rows of new classes are separated perfectly."""
MOST_ROWS = 10_000
"""Maximum number of held-out rows; of more, a sample is used."""
MOST_FACTOR, MOST_SHIFT = 8.0, 8.0
"""The factor is between the reciprocal of the first and the first."""


@dataclass(frozen=True)
class Adjustment:
    """A change of the logits of new classes: ``factor * logit + shift``.

    Attributes
    ----------
    loss : the mean log loss of held-out rows with it.
    """

    factor: float
    shift: float
    loss: float


def adjust(
    log_sums: NDArray[np.float64],
    logits: Float,
    targets: Ints,
    weights: NDArray[np.float64] | None,
    *,
    seed: int = 0,
) -> Adjustment:
    """Return the adjustment with the least log loss on held-out rows.

    Parameters
    ----------
    log_sums : float64 array of shape (n_rows,), the logarithm of the sum of the exponentials of
        the logits of the fixed classes.
    logits : float32 array of shape (n_rows, n_new)
    targets : int32 array of shape (n_rows,), the new class of each row, negative for fixed ones.
    weights : float64 array of shape (n_rows,), for how many rows each one counts; None to change
        nothing and measure the loss.
    """
    if len(logits) > MOST_ROWS:
        rows = np.sort(generator(seed, "rows that adjust").permutation(len(logits))[:MOST_ROWS])
        log_sums, logits, targets = log_sums[rows], logits[rows], targets[rows]
        weights = None if weights is None else weights[rows]
    counted = np.ones(len(logits)) if weights is None else weights
    # Logits are only defined up to a number; with this one, the factor does not shift them.
    middle = float(log_sums.mean())
    away = logits.astype(np.float64) - middle
    rest = log_sums - middle

    def measure(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        factor, shift = parameters
        loss, derivatives = sum_losses(factor * away + shift, rest, targets, counted)
        return loss, np.array([(derivatives * away).sum(), derivatives.sum()])

    unchanged = np.array([1.0, 0.0])

    def objective(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = measure(parameters)
        change = parameters - unchanged
        return loss + PENALTY * float(change @ change), gradient + 2.0 * PENALTY * change

    best = unchanged
    if weights is not None:
        bounds = [(1.0 / MOST_FACTOR, MOST_FACTOR), (-MOST_SHIFT, MOST_SHIFT)]
        best = minimize(objective, best, jac=True, method="L-BFGS-B", bounds=bounds).x
    factor, shift = best.tolist()
    loss = measure(best)[0] / float(counted.sum())
    return Adjustment(factor, shift + (1.0 - factor) * middle, loss)


def balance(labels: Ints) -> NDArray[np.float64]:
    """Return weights of rows with which all classes count alike; their mean is 1."""
    counts = np.bincount(labels)
    found: NDArray[np.float64] = len(labels) / (np.count_nonzero(counts) * counts[labels])
    return found
