"""Figures 1 to 3 of [HM] as simulations: how noisy confusable classes make the empirical error.

`confusable_classes.py` runs them. Nothing is trained: errors, rows and violations are drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEANS = np.array([[0.0, 1.0], [0.0, 1.0], [-1.5, -1.0], [1.5, -1.0]])
"""Figure 2: the first two classes cannot be distinguished, the others can."""
ROWS_OF_A_CLASS = 11
REACH, STEPS = 1.5, 21
"""Figure 2: how far the prototype of the first class may move from its mean, on a grid."""


def draw_errors(p: float, n_rows: int, n_draws: int) -> dict[str, float]:
    """Return how the mean of so many errors of probability p is spread  [HM, Figure 1]."""
    draws = np.random.default_rng([n_rows, round(1000 * p)])
    means = draws.binomial(n_rows, p, n_draws) / n_rows
    return {
        "mean": round(float(means.mean()), 4),
        "deviation": round(float(means.std()), 4),
        "expected": round(float(np.sqrt(p * (1 - p) / n_rows)), 4),
        "far": round(100 * float((np.abs(means - p) >= 0.1 - 1e-9).mean()), 1),
    }


def classify(X: NDArray[Any], first: NDArray[Any]) -> NDArray[np.int64]:
    """Return the nearest prototype of each row, for each prototype of the first class.

    Parameters
    ----------
    X : array of shape (n_rows, 2).
    first : array of shape (n_places, 2); the other prototypes are the means of their classes.

    Returns
    -------
    array of shape (n_places, n_rows); the first of equally near prototypes.
    """
    others = np.square(X[:, None, :] - MEANS[None, 1:]).sum(axis=2)
    nearest, distance = others.argmin(axis=1) + 1, others.min(axis=1)
    own = np.square(X[None, :, :] - first[:, None, :]).sum(axis=2)
    return np.where(own <= distance, 0, nearest)


def count_confusions(y: NDArray[Any], guesses: NDArray[Any]) -> NDArray[np.float64]:
    """Return the class-confusion loss [HM, Equation 7] of the guesses of each classifier.

    A row of class y that is classified as c costs the share of the rows of y that are not.
    """
    n_classes = len(MEANS)
    losses = np.zeros(len(guesses))
    for label in range(n_classes):
        own = guesses[:, y == label]
        for c in range(n_classes):
            share = (own == c).mean(axis=1)
            losses += own.shape[1] * share * (1 - share) * (c != label)
    return losses


def place_prototypes(n_draws: int, n_test: int) -> dict[str, Any]:
    """Return the test errors of prototypes chosen by two losses  [HM, Figure 2]."""
    draws = np.random.default_rng(2)
    grid = np.linspace(-REACH, REACH, STEPS)
    moves = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    moves = moves[np.argsort(np.square(moves).sum(axis=1), kind="stable")]  # ties: the least move
    first = MEANS[0] + moves
    labels = np.repeat(np.arange(len(MEANS)), n_test // len(MEANS))
    X = MEANS[labels] + draws.standard_normal((len(labels), 2))
    errors = np.array([100 * (classify(X, place[None])[0] != labels).mean() for place in first])
    y = np.repeat(np.arange(len(MEANS)), ROWS_OF_A_CLASS)
    chosen: dict[str, list[float]] = {"empirical": [], "confusion": []}
    for _ in range(n_draws):
        rows = MEANS[y] + draws.standard_normal((len(y), 2))
        guesses = classify(rows, first)
        losses = {
            "empirical": (guesses != y).sum(axis=1),
            "confusion": count_confusions(y, guesses),
        }
        for name, values in losses.items():
            chosen[name].append(float(errors[np.argmin(values)]))
    gains = np.subtract(chosen["empirical"], chosen["confusion"])
    return {
        "unmoved": round(float(errors[0]), 2),
        "best": round(float(errors.min()), 2),
        **{name: round(float(np.mean(values)), 2) for name, values in chosen.items()},
        "worse": round(100 * float(np.mean(np.array(chosen["empirical"]) > errors[0])), 1),
        "gain": round(float(gains.mean()), 3),
        "error": round(float(gains.std(ddof=1) / np.sqrt(n_draws)), 3),
    }


def find_stationary(p: float, q: float) -> tuple[float, float, float]:
    """Return how often the last violator is none, g or h, as [HM, Figure 3] states it."""
    g = p * (2 + q - p * q) / (2 * (p - 1) * (p * q - 1))
    h = q * (2 + p - p * q) / (2 * (q - 1) * (p * q - 1))
    return 1 / (1 + g + h), g / (1 + g + h), h / (1 + g + h)


def follow_violators(p: float, q: float, n_rows: int, seed: int) -> tuple[NDArray[np.int64], int]:
    """Return the last violator before each row, 0 for none, and how many violations count.

    Classes 1 and 2 violate a row with probabilities p and q. While the last violator violates, the
    row is ignored; else one of the violators, at random, counts and is remembered  [HM, 6.2].
    """
    draws = np.random.default_rng(seed)
    violates = draws.random((n_rows, 2)) < (p, q)
    second = draws.random(n_rows) < 0.5
    states, last, counted = np.empty(n_rows, np.int64), 0, 0
    for i in range(n_rows):
        states[i] = last
        if last and violates[i, last - 1]:
            continue
        both = violates[i].all()
        last = (1 + second[i] if both else 1 + int(violates[i, 1])) if violates[i].any() else 0
        counted += last > 0
    return states, counted


def walk_chain(p: float, q: float, n_rows: int) -> dict[str, Any]:
    """Return how often each state was visited, beside the formula  [HM, Figure 3]."""
    states, _ = follow_violators(p, q, n_rows, seed=3)
    visited = np.bincount(states, minlength=3) / n_rows
    expected = find_stationary(p, q)
    return {
        "visited": [round(float(share), 4) for share in visited],
        "expected": [round(share, 4) for share in expected],
        "difference": round(float(np.abs(visited - expected).max()), 4),
    }


def count_losses(p: float, n_rows: int, n_draws: int) -> dict[str, float]:
    """Return how many confusions of one class with another count  [HM, Proposition 1]."""
    counts = [follow_violators(p, 0.0, n_rows, seed=seed)[1] for seed in range(n_draws)]
    return {
        "all": round(n_rows * p, 3),
        "counted": round(float(np.mean(counts)), 3),
        "error": round(float(np.std(counts, ddof=1) / np.sqrt(n_draws)), 3),
        "expected": round((n_rows - 1) * p * (1 - p) + p, 3),
    }
