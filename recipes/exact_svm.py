"""The exact one-vs-rest SVM of the recipes for photographs, on inner products of rows.

Fisher vectors are much longer than there are images, so each class is solved by dual coordinate
ascent on the matrix of inner products, which takes a second for 3,000 rows of 100 classes. It has
the same optimum as `DualSVM`; a test compares the two.
"""

from __future__ import annotations

import numpy as np
from numba import njit

C = 10.0
TOLERANCE = 0.02
EPOCHS = 200


@njit(cache=True, fastmath=True)
def _ascend(products: np.ndarray, signs: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the signed dual variables of one class, float32 (n,), none larger than C.

    Ends when no gradient that may be followed is larger than `TOLERANCE`, or with the last epoch.

    Parameters
    ----------
    products : float32 array of shape (n, n).
    signs : float32 array of shape (n,), 1 for rows of the class and -1 for others.
    orders : int array of shape (epochs, n), the order of rows in each epoch.
    """
    n = len(signs)
    weights = np.zeros(n, np.float32)
    scores = np.zeros(n, np.float32)
    for order in orders:
        largest = 0.0
        for i in order:
            gradient = signs[i] * scores[i] - 1.0
            alpha = weights[i] * signs[i]
            if (alpha <= 0 and gradient >= 0) or (alpha >= C and gradient <= 0):
                continue
            largest = max(largest, abs(gradient))
            moved = min(max(alpha - gradient / products[i, i], 0.0), C)
            if moved != alpha:
                step = np.float32((moved - alpha) * signs[i])
                weights[i] += step
                row = products[i]
                for j in range(n):
                    scores[j] += step * row[j]
        if largest < TOLERANCE:
            break
    return weights


def solve(products: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the signed dual variables of all classes, float32 of shape (n_classes, n).

    Parameters
    ----------
    products : float32 array of shape (n, n), inner products of the rows, near 1 on the diagonal.
    y : int array of shape (n,), classes from 0.
    """
    # A constant feature of 1 stands for the bias.
    products = np.ascontiguousarray(products, np.float32) + np.float32(1)
    draws = np.random.default_rng(0)
    orders = np.stack([draws.permutation(len(y)) for _ in range(EPOCHS)])
    found = np.empty((int(y.max()) + 1, len(y)), np.float32)
    for c in range(len(found)):
        signs = np.where(y == c, 1.0, -1.0).astype(np.float32)
        found[c] = _ascend(products, signs, orders)
    return found


class ExactSVM:
    """The SVM of rows: `X` float32 of shape (n, n_features), `y` classes from 0."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.weights = X, solve(X @ X.T, y)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n, n_classes)."""
        return (X @ self.X.T + np.float32(1)) @ self.weights.T

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of largest score of each row."""
        return self.decision_function(X).argmax(axis=1)


def cross_validate(products: np.ndarray, y: np.ndarray, folds: int = 5) -> np.ndarray:
    """Return which rows are classified correctly by models that were trained without them."""
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), int)
    fold[order] = np.arange(len(y)) % folds
    guesses = np.empty(len(y), int)
    for k in range(folds):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        weights = solve(products[np.ix_(train, train)], y[train])
        scores = (products[np.ix_(test, train)] + np.float32(1)) @ weights.T
        guesses[test] = scores.argmax(axis=1)
    return guesses == y
