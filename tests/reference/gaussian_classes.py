"""Probabilistic discriminant analysis by its definition, with full covariance matrices."""

import numpy as np
from scipy.linalg import eigh, sqrtm
from scipy.stats import multivariate_normal


def find_covariances(X, y, n_classes, lam):
    """Return the class means, their mean, and the covariances within and between classes."""
    means = np.stack([X[y == c].mean(axis=0) for c in range(n_classes)])
    away = X - means[y]
    variance = X.var(axis=0).mean()
    within = away.T @ away / (len(X) - n_classes) + lam * variance * np.eye(X.shape[1])
    centre = means.mean(axis=0)
    size = n_classes / (1.0 / np.bincount(y)).sum()
    # Less what means of `size` rows differ by chance, in units of the covariance within classes.
    root = np.real(sqrtm(within))
    inverse = np.linalg.inv(root)
    spread, axes = eigh(inverse @ np.cov(means.T, bias=True) @ inverse)
    between = root @ (axes * np.maximum(spread - 1.0 / size, 0.0)) @ axes.T @ root
    return means, centre, within, between, size


def log_densities(X, y, n_classes, lam, asked):
    """Return the log density of rows under each class, of shape (n_asked, n_classes)."""
    means, centre, within, between, size = find_covariances(X, y, n_classes, lam)
    covariance = within + between
    covariance -= between @ np.linalg.solve(between + within / size, between)
    found = []
    for c, n in enumerate(np.bincount(y)):
        posterior = between @ np.linalg.solve(between + within / n, means[c] - centre)
        found.append(multivariate_normal(centre + posterior, covariance).logpdf(asked))
    return np.stack(found, axis=1)
