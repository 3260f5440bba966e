"""Rows on which myriad and other trainers are measured, and their accuracies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from myriad.store import ArrayRows

VALIDATION = 0.1
SPREAD, SHARED, STRENGTH = 0.2, 64, 0.5
"""Deviations of class means and of what rows of all classes share, in that of the other noise; the
number of directions shared."""


@dataclass(frozen=True)
class Problem:
    """Rows to train and to validate on, of `n_classes` classes."""

    train: ArrayRows
    val: ArrayRows
    n_classes: int

    @property
    def shape(self) -> str:
        """The shape of the problem, in words."""
        return f"N = {self.train.n_rows}, D = {self.train.dim}, C = {self.n_classes}"

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and labels to train and to validate on."""
        parts = [
            (rows.read(np.arange(rows.n_rows)), rows.labels) for rows in (self.train, self.val)
        ]
        return *parts[0], *parts[1]


def draw_rows(n: int, dim: int, n_classes: int) -> ArrayRows:
    """Return rows of overlapping classes with a decaying spectrum, of mean squared norm about 1."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    means = rng.standard_normal((n_classes, dim), dtype=np.float32) * np.float32(SPREAD)
    shared = rng.standard_normal((SHARED, dim), dtype=np.float32)
    shared *= np.float32(STRENGTH / math.sqrt(SHARED))
    deviations = (1.0 + np.arange(dim)) ** -0.5
    deviations /= math.sqrt((deviations**2).sum())
    X = rng.standard_normal((n, dim), dtype=np.float32)
    for start in range(0, n, 1024):
        part = slice(start, start + 1024)
        some = labels[part]
        X[part] += means[some]
        X[part] += rng.standard_normal((len(some), SHARED), dtype=np.float32) @ shared
    X *= deviations.astype(np.float32)
    return ArrayRows(X, labels)


def draw_problem(n: int, dim: int, n_classes: int) -> Problem:
    """Draw the rows; the first `n` train."""
    rows = draw_rows(n + int(VALIDATION * n), dim, n_classes)
    return Problem(rows.select(np.arange(n)), rows.select(np.arange(n, rows.n_rows)), n_classes)


def take_classes(problem: Problem, part: float) -> Problem:
    """Return the problem of the first classes only."""
    few = max(2, int(part * problem.n_classes))
    sides = [
        rows.select(np.flatnonzero(rows.labels < few)) for rows in (problem.train, problem.val)
    ]
    return Problem(sides[0], sides[1], few)


def to_percent(guesses: np.ndarray, truths: np.ndarray) -> float:
    """Return top-1 accuracy over samples."""
    return round(100.0 * float((np.asarray(guesses) == truths).mean()), 2)


def time_to_target(curve: list[tuple[float, float]], target: float) -> float | None:
    """Return the seconds after which a curve of (seconds, top1) reaches the target."""
    return next((round(seconds, 3) for seconds, top1 in curve if top1 >= target), None)
