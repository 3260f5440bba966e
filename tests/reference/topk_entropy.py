"""The top-k entropy loss and its Prox-SDCA, one row at a time, by bisection."""

import numpy as np
from scipy.special import wrightomega, xlogy


def shares(h, k, kappa=0.0):
    """Maximise <z, h> - kappa/2 (|z|^2 + s^2) + H(z) over 0 <= z <= s / k, s = 1'z <= 1.

    For each s the best z is min(v, s / k) with kappa v + log v = h - t; the best s is where the
    derivative, t + (sum of multipliers) / k - kappa s + log(1 - s), is zero.
    """

    def solve(s):
        low, high = h.min() - 60 - kappa, h.max() + 60 + kappa
        for _ in range(80):  # to the last bit
            t = (low + high) / 2
            v = np.exp(h - t) if kappa == 0 else wrightomega(h - t + np.log(kappa)) / kappa
            low, high = (t, high) if np.minimum(v, s / k).sum() > s else (low, t)
        z = np.minimum(v, s / k)
        upper = v > s / k
        multipliers = (h - t - kappa * s / k - np.log(s / k))[upper].sum()
        return z, t + multipliers / k - kappa * s + np.log1p(-s)

    low, high = 0.0, 1.0
    for _ in range(50):
        s = (low + high) / 2
        z, slope = solve(s)
        low, high = (s, high) if slope > 0 else (low, s)
    return z


def entropy(z):
    return -xlogy(z, z).sum() - xlogy(1 - z.sum(), 1 - z.sum())


def loss(scores, label, k):
    h = np.delete(scores - scores[label], label)
    z = shares(h, k)
    return z @ h + entropy(z)


def train(X, labels, orders, *, n_classes, k, lam):
    """Return W and the dual columns A (n_classes, n)."""
    n, dim = X.shape
    W, A = np.zeros((n_classes, dim)), np.zeros((n_classes, n))
    r = 1 / (lam * n)
    for order in orders:
        for i in order:
            x, y = X[i], labels[i]
            q = W @ x - (x @ x) * A[:, i]
            z = shares(np.delete(q - q[y], y), k, kappa=r * (x @ x))
            new = r * np.insert(-z, y, z.sum())
            W += np.outer(new - A[:, i], x)
            A[:, i] = new
    return W, A


def values(X, labels, A, *, k, lam):
    """Return the primal and the dual value of dual columns."""
    W, n = A @ X, len(X)
    losses = [loss(W @ x, y, k) for x, y in zip(X, labels, strict=True)]
    norm = lam / 2 * (W**2).sum()
    entropies = [entropy(-lam * n * np.delete(A[:, i], labels[i])) for i in range(n)]
    return norm + np.mean(losses), np.mean(entropies) - norm
