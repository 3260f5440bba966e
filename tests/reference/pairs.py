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


def list_predictions(labels, n_classes, k):
    """Return ``Y' - Y`` and Delta of every prediction Y' with at most k n ones, as arrays."""
    n = len(labels)
    truth = np.eye(n_classes)[labels].ravel()
    found = []
    for size in range(k * n + 1):
        for chosen in combinations(range(n * n_classes), size):
            prediction = np.zeros(n * n_classes)
            prediction[list(chosen)] = 1.0
            found.append(prediction)
    predictions = np.array(found)
    return predictions - truth, 1.0 - predictions @ truth / n


def recall_slack(S, labels, k):
    """Return the largest ``Delta + <Y' - Y, S> / n`` over all Y' with at most k n ones."""
    moves, missed = list_predictions(labels, S.shape[1], k)
    return float((missed + moves @ S.ravel() / len(labels)).max())


def recall_value(W, X, labels, k, lam, batches):
    """Return the value of Recall@k in batches, lists of row numbers: the mean of their slacks."""
    slacks = [recall_slack(X[some] @ W.T, labels[some], k) for some in batches]
    sizes = [len(some) / len(X) for some in batches]
    return lam / 2 * (W**2).sum() + np.dot(sizes, slacks)


def recall_optimum(X, labels, n_classes, k, lam, batches):
    """Return the least value of Recall@k in batches: a slack for each, above all predictions."""
    size = n_classes * X.shape[1]
    parts = []
    for number, some in enumerate(batches):
        moves, missed = list_predictions(labels[some], n_classes, k)
        M = moves.reshape(len(moves), len(some), n_classes)
        planes = np.einsum("pic,id->pcd", M, X[some]).reshape(len(moves), size) / len(some)
        slack = np.zeros((len(moves), len(batches)))
        slack[:, number] = -1.0
        parts.append(np.hstack([planes, slack, missed[:, None]]))
    A = np.vstack(parts)
    shares = np.array([len(some) / len(X) for some in batches])
    found = minimize(
        lambda z: lam / 2 * (z[:size] ** 2).sum() + shares @ z[size:],
        np.concatenate([np.zeros(size), np.ones(len(batches))]),
        jac=lambda z: np.concatenate([lam * z[:size], shares]),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda z: -A[:, :-1] @ z - A[:, -1],
            "jac": lambda z: -A[:, :-1],
        },
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.fun
