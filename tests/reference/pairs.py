"""TopPush and Recall@k from their definitions: slow, for a few rows."""

from itertools import combinations

import numpy as np
from scipy.optimize import brentq, minimize


def push_value(W, X, labels, lam, problems):
    """Return the primal value of TopPush; classes of one number are ranked together."""
    S, n = X @ W.T, len(X)
    total = lam / 2 * (W**2).sum()
    for i, y in enumerate(labels):
        wrong = [
            S[j, c]
            for j in range(n)
            for c in range(len(W))
            if c != labels[j] and problems[c] == problems[y]
        ]
        total += max(0.0, 1.0 + max(wrong) - S[i, y]) ** 2 / n
    return total


def push_optimum(X, labels, n_classes, lam):
    """Return the least value of TopPush over all pairs: no wrong score above a threshold t."""
    n, dim = X.shape
    own = np.zeros((n, n_classes), bool)
    own[np.arange(n), labels] = True

    def read(z):
        return X @ z[:-1].reshape(n_classes, dim).T, z[-1]

    def value(z):
        S, t = read(z)
        return lam / 2 * (z[:-1] ** 2).sum() + (np.maximum(0, 1 + t - S[own]) ** 2).mean()

    def room(z):
        S, t = read(z)
        return t - S[~own]

    start = np.zeros(n_classes * dim + 1)
    constraint = {"type": "ineq", "fun": room}
    options = {"maxiter": 500, "ftol": 1e-12}
    return minimize(value, start, method="SLSQP", constraints=constraint, options=options).fun


def balance(positives, negatives):
    """Return the nearest nonnegative numbers of equal sums."""

    def excess(t):
        return np.maximum(positives - t, 0).sum() - np.maximum(negatives + t, 0).sum()

    size = 1 + np.abs(positives).max() + np.abs(negatives).max()
    t = brentq(excess, -size, size, xtol=1e-15)
    return np.maximum(positives - t, 0), np.maximum(negatives + t, 0)


def recall_slack(S, labels, k):
    """Return the largest ``Delta + <Y' - Y, S> / n`` over all Y' with at most k n ones."""
    n, n_classes = S.shape
    truth = {(i, int(y)) for i, y in enumerate(labels)}
    pairs = [(i, c) for i in range(n) for c in range(n_classes)]
    best = -np.inf
    for size in range(k * n + 1):
        for chosen in combinations(pairs, size):
            gained = sum(S[pair] for pair in chosen) - sum(S[pair] for pair in truth)
            best = max(best, 1 - len(truth.intersection(chosen)) / n + gained / n)
    return best
