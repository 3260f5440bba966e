"""Small calibrated models for tests of decisions."""

import numpy as np

from myriad.models import HeldScores, LinearModel, ModelFolder, calibrate


def draw_rows(n_rows, n_classes, dim, seed):
    """Return rows around a random mean of their class, and their labels."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(n_classes, dim))
    labels = rng.integers(0, n_classes, n_rows).astype(np.int32)
    X = means[labels] + 0.9 * rng.normal(size=(n_rows, dim))
    return X.astype(np.float32), labels


def make_folder(n_classes=None, dim=6, *, class_names=None, n_rows=400, calibrated=True, scale=3.0):
    """Return a nearest-means model with scores on some scale, calibrated on drawn rows."""
    names = class_names or [f"class {c}" for c in range(n_classes or 5)]
    means = np.random.default_rng(99).normal(size=(len(names), dim))
    weights, biases = scale * means, -scale / 2 * np.square(means).sum(axis=1)
    model = LinearModel(weights.astype(np.float32), biases.astype(np.float32))
    calibration = None
    if calibrated:
        X, labels = draw_rows(n_rows, len(names), dim, seed=1)
        calibration = calibrate(HeldScores.of(model.scores(X), labels), "split")
    return ModelFolder(model, list(names), None, {}, None, calibration)
