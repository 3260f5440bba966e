"""Proximal gradient for multinomial logistic regression under a gauge: slow, plain, float64."""

import numpy as np
from scipy.special import logsumexp


def risk_and_gradient(W, X, y, b):
    scores = X @ W + b
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
    E = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    E[np.arange(len(y)), y] -= 1
    return losses.mean(), X.T @ E / len(y)


def measure(W, gauge):
    if gauge == "trace":
        return np.linalg.svd(W, compute_uv=False).sum()
    return np.abs(W).sum() if gauge == "l1" else np.linalg.norm(W, axis=1).sum()


def polar(G, gauge):
    if gauge == "trace":
        return np.linalg.norm(G, 2)
    return np.abs(G).max() if gauge == "l1" else np.linalg.norm(G, axis=1).max()


def shrink(W, by, gauge):
    """The proximal step of a gauge."""
    if gauge == "trace":
        left, values, right = np.linalg.svd(W, full_matrices=False)
        return (left * np.maximum(values - by, 0)) @ right
    if gauge == "l1":
        return np.sign(W) * np.maximum(np.abs(W) - by, 0)
    norms = np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300)
    return W * np.maximum(1 - by / norms, 0)


def minimise(X, y, b, lam, gauge, steps=3000):
    """Return the optimum W (n_features, n_classes) and the objective, by accelerated steps."""
    X = X.astype(np.float64)
    eta = 1 / (0.5 * np.linalg.norm(X, 2) ** 2 / len(X))
    W = V = np.zeros((X.shape[1], len(b)))
    t = 1.0
    for _ in range(steps):
        new = shrink(V - eta * risk_and_gradient(V, X, y, b)[1], eta * lam, gauge)
        if ((V - new) * (new - W)).sum() > 0:  # begin the acceleration anew
            t = 1.0
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        V = new + (t - 1) / after * (new - W)
        moved = np.abs(new - W).max()
        W, t = new, after
        if moved < 1e-8:
            break
    return W, risk_and_gradient(W, X, y, b)[0] + lam * measure(W, gauge)
