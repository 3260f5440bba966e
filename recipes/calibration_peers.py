"""What `calibration.py` compares with: MAPIE, temperature scaling, other scores of novelty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA

from myriad.models import Calibration, HeldScores
from myriad.models.calibration.classes import sum_log

DIRECTIONS = (64, 128, 256)


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose rows are the probabilities themselves."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def fit(self, X: np.ndarray, y: np.ndarray) -> Given:
        """Do nothing but what scikit-learn asks of fitted classifiers."""
        self.classes_, self.n_features_in_ = np.arange(self.n_classes), self.n_classes
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the best class of each row."""
        return X.argmax(axis=1)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the rows."""
        return X


def spread_scores(held: HeldScores, n_classes: int) -> np.ndarray:
    """Return the scores of all classes; those that were not kept get the mean of their groups."""
    means = (held.rest_scores * held.rest_counts).sum(axis=1)
    others = means / np.maximum(held.rest_counts.sum(axis=1), 1.0)
    scores = np.repeat(others[:, None], n_classes, axis=1)
    np.put_along_axis(scores, held.classes.astype(int), held.scores, axis=1)
    return scores


def make_probabilities(calibration: Calibration, scores: np.ndarray) -> np.ndarray:
    """Return calibrated probabilities, from scores of all classes."""
    logits = calibration.scales(scores.max(axis=1))[:, None] * scores.astype(np.float64)
    second, best = np.partition(logits, -2, axis=1)[:, -2:].T
    bonuses = calibration.bonuses(best, second)
    logits[np.arange(len(logits)), scores.argmax(axis=1)] += bonuses
    return softmax(logits, axis=1)


def mapie_sets(
    held: HeldScores, calibration: Calibration, test: np.ndarray, coverage: float, method: str
) -> np.ndarray | None:
    """Return the prediction sets of MAPIE, a matrix of rows and classes; None where it has none.

    For RAPS it needs several times as many rows as classes, and more for a high coverage.
    """
    from mapie.classification import SplitConformalClassifier

    n_classes = test.shape[1]
    rows = make_probabilities(calibration, spread_scores(held, n_classes))
    given = Given(n_classes).fit(rows, held.labels)
    peer = SplitConformalClassifier(
        given, confidence_level=coverage, conformity_score=method, prefit=True, random_state=0
    )
    try:
        peer.conformalize(rows, held.labels.astype(int))
        sets = peer.predict_set(test / test.sum(axis=1, keepdims=True))[1][:, :, 0]
    except ValueError:  # too few rows for the classes or for the coverage
        return None
    return np.asarray(sets, bool)


def temperature_only(held: HeldScores, scores: np.ndarray) -> np.ndarray:
    """Return the probabilities of plain temperature scaling, fitted on the same rows."""
    start = 10.0 / float(np.median(held.scores[:, 0] - held.scores[:, -1]))

    def loss(log_scale: float) -> float:
        scales = np.full(len(held), np.exp(log_scale))
        return float((sum_log(held, scales, 0.0) - scales * held.true).mean())

    found = minimize_scalar(loss, bounds=np.log(start) + np.array([-6.0, 6.0]), method="bounded")
    return softmax(np.exp(found.x) * scores.astype(np.float64), axis=1)


def novelty_scores(
    model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> dict[str, np.ndarray]:
    """Return scores of novelty of test rows: ours, and those that it was chosen from."""
    calibration = model.calibration_
    scores = model.model_.scores(X_test).astype(np.float64)
    probabilities = model.predict_proba(X_test)
    standing = calibration.standardise(scores.max(axis=1).astype(np.float32))
    found = {
        "novelty": calibration.novelty.measure(X_test.astype(np.float32), standing),
        "maximum logit": -scores.max(axis=1),
        "energy": -logsumexp(calibration.scale * scores, axis=1),
        "maximum probability": -probabilities.max(axis=1),
        "entropy": -(probabilities * np.log(probabilities + 1e-30)).sum(axis=1),
    }
    labels = np.unique(y, return_inverse=True)[1]
    means = np.stack([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    found["distance to class means"] = find_nearest(X_test, means)
    for size in DIRECTIONS:
        pca = PCA(size, random_state=0).fit(X)
        Z, Z_test = pca.transform(X), pca.transform(X_test)
        points = np.stack([Z[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
        within = np.cov((Z - points[labels]).T)
        within = 0.9 * within + 0.1 * np.eye(size) * np.trace(within) / size
        whiten = np.linalg.cholesky(np.linalg.inv(within))
        nearest = find_nearest(Z_test @ whiten, points @ whiten)
        found[f"Mahalanobis, {size} directions"] = nearest
    return found


def find_nearest(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the squared distance of each row to the nearest point."""
    products = np.square(rows).sum(axis=1)[:, None] - 2 * rows @ points.T
    return (products + np.square(points).sum(axis=1)).min(axis=1)
