"""Coordinate descent of a smooth binary problem in plain NumPy: exact minima along features."""

import numpy as np
from scipy.optimize import minimize_scalar


def loss_values(loss, margins):
    if loss == "squared_hinge":
        return np.maximum(0, 1 - margins) ** 2
    return np.logaddexp(0, -margins)


def value(loss, w, X, z, lam):
    """Return the objective of one class."""
    return lam / 2 * (w @ w) + loss_values(loss, z * (X @ w)).mean()


def minimise(loss, X, z, lam, epochs):
    """Return the objective after epochs of exact coordinate minimisation."""
    w = np.zeros(X.shape[1])
    for _ in range(epochs):
        for j in range(len(w)):
            step = np.eye(len(w))[j]
            found = minimize_scalar(lambda d, w=w, step=step: value(loss, w + d * step, X, z, lam))
            w = w + found.x * step
    return value(loss, w, X, z, lam)
