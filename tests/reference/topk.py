"""Prox-SDCA for the top-k SVM, one row at a time, with dense dual columns and plain sorting."""

import numpy as np

from myriad.store import ArrayRows


def loss(scores, label, k, variant, gamma=0.0):
    h = np.delete(1 + scores - scores[label], label)
    if gamma > 0:
        x = project(h / gamma, k, 1.0, variant, rho=0.0)
        return x @ h - gamma / 2 * (x @ x)
    h = np.sort(h)[::-1][:k]
    return max(0.0, h.mean()) if variant == "alpha" else np.maximum(h, 0).mean()


def project(b, k, r, variant, rho=1.0):
    """Minimise |b - x|^2 + rho (1'x)^2 by trying every partition of the entries."""
    m, ordered = len(b), np.sort(b)[::-1]
    best, solution = (b**2).sum(), np.zeros(m)
    for n_upper in range(m + 1):
        for n_middle in range(m - n_upper + 1):
            for t, u in thresholds(ordered, n_upper, n_middle, k, r, variant, rho):
                if u <= 0:
                    continue
                x = np.clip(b - t, 0, u)
                limit = x.sum() / k if variant == "alpha" else r / k
                cost = ((b - x) ** 2).sum() + rho * x.sum() ** 2
                if x.sum() <= r + 1e-9 and x.max() <= limit + 1e-9 and cost < best:
                    best, solution = cost, x
    return solution


def thresholds(ordered, n_upper, n_middle, k, r, variant, rho):
    """Return the t and u that a partition would have, the sum being r or not."""
    upper, middle = ordered[:n_upper].sum(), ordered[n_upper : n_upper + n_middle].sum()
    u = r / k
    if n_middle == 0:
        if n_upper == 0:
            return []
        alone = upper / (k + rho * k * k) if variant == "alpha" and n_upper == k else u
        return [(ordered[n_upper - 1] - one, one) for one in (u, alone)]
    found = [((middle + n_upper * u - r) / n_middle, u)]
    if variant == "beta":
        return [*found, (rho * (middle + n_upper * u) / (1 + rho * n_middle), u)]
    size = (k - n_upper) ** 2 + (n_upper + rho * k * k) * n_middle
    free = ((k - n_upper) * middle + n_middle * upper) / size
    return [*found, ((middle + (n_upper - k) * free) / n_middle, free)]


def train(X, labels, orders, *, n_classes, k, lam, variant, gamma=0.0, support_only=(), start=15):
    """Return W and the dual columns A (n_classes, n).

    Epochs in `support_only` are over the variables that are not zero. A row without any begins with
    at most `start` more than k, those of the largest scores.
    """
    n, dim = X.shape
    W, A = np.zeros((n_classes, dim)), np.zeros((n_classes, n))
    r = 1 / (lam * n)
    for number, order in enumerate(orders):
        for i in order:
            x, y = X[i], labels[i]
            q = W @ x - (x @ x) * A[:, i]
            wrong = np.delete(np.arange(n_classes), y)
            if number in support_only:
                wrong = wrong[A[wrong, i] != 0]
            elif not A[:, i].any():
                wrong = np.sort(wrong[np.argsort(-q[wrong], kind="stable")[: k + start]])
            new = np.zeros(n_classes)
            size = x @ x + gamma / r
            solution = project((q[wrong] + 1 - q[y]) / size, k, r, variant, rho=x @ x / size)
            new[wrong], new[y] = -solution, solution.sum()
            W += np.outer(new - A[:, i], x)
            A[:, i] = new
    return W, A


def values(X, labels, A, *, k, lam, variant, gamma=0.0):
    """Return the primal and the dual value of dual columns."""
    W, totals, n = A @ X, A[labels, np.arange(len(X))], len(X)
    losses = [loss(W @ x, y, k, variant, gamma) for x, y in zip(X, labels, strict=True)]
    norm = lam / 2 * (W**2).sum()
    smoothed = lam * gamma * (lam * n) / 2 * ((A**2).sum() - (totals**2).sum())
    return norm + np.mean(losses), lam * totals.sum() - smoothed - norm


def make_rows(n=60, dim=9, n_classes=7, dtype=np.float64):
    """Return rows of classes that overlap."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + 0.7 * rng.standard_normal((n_classes, dim))[labels]
    return ArrayRows(X, labels, dtype=dtype)


def dense_columns(ascent):
    """Return the dual columns of an ascent, (n_classes, n)."""
    A = np.zeros((ascent.n_classes, ascent.rows.n_rows))
    starts, counts, classes, values = ascent.duals.table()
    for i, label in enumerate(ascent.rows.labels):
        part = slice(starts[i], starts[i] + counts[i])
        A[classes[part], i] = -values[part]
        A[label, i] = values[part].sum()
    return A
