"""The advantage of classes with many rows, which balanced training leaves a part of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel, Model
from myriad.models.calibration.held_scores import HeldScores
from myriad.training.automatic.folds import Judge
from myriad.training.search import smooth

PRIOR_PARTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Weights of the priors of classes that are tried, in units of the deviation of scores."""


def log_priors(labels: NDArray[np.int32], n_classes: int) -> NDArray[np.float64]:
    """Return the logarithm of the number of rows of each class, relative to its mean."""
    counts = np.maximum(np.bincount(labels[labels >= 0], minlength=n_classes), 1)
    logarithms = np.log(counts)
    return logarithms - logarithms.mean()


def correct_priors(model: Model, weight: float, priors: NDArray[np.float64]) -> LinearModel:
    """Return a linear model with `weight` times the priors subtracted from its biases."""
    assert isinstance(model, LinearModel)
    return LinearModel(model.weights, (model.biases - weight * priors).astype(np.float32))


def find_prior_weight(held: HeldScores, priors: NDArray[np.float64], judge: Judge) -> float:
    """Return how much of the logarithm of a class's share of rows to subtract from its score.

    Balanced training still ranks classes with few rows too low. The weight is the one with the best
    mean class accuracy on held-out rows, smoothed over its neighbours.
    """
    unit, scores = float(held.scores.std()), []
    rows = np.arange(len(held.labels))
    for part in PRIOR_PARTS:
        corrected = held.scores - part * unit * priors[held.classes]
        guesses = held.classes[rows, corrected.argmax(axis=1)]
        scores.append(judge.score(guesses == held.labels))
    return float(f"{PRIOR_PARTS[int(np.argmax(smooth(scores)))] * unit:.3g}")
