"""Weighted one-vs-rest, one class and one row at a time, weights plainly decayed."""

import math

import numpy as np

from tests.reference.draws import negative_positions


def coefficient(loss, sign, score):
    if loss == "hinge":
        return sign if sign * score < 1 else 0.0
    if loss == "logistic":
        return sign / (1 + math.exp(sign * score))
    return 2 * (sign - score)


def train(X, labels, orders, *, n_classes, step, beta, lam, bias_rate, loss, seed):
    """Return W and b; `step(t)` is the size of a class's step t."""
    X = np.asarray(X, np.float64)
    W, b = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
    for c in range(n_classes):
        t = 0
        n_own = int((labels == c).sum())
        probability = min(1.0, beta * n_own / (len(labels) - n_own)) if n_own else 0.0
        for epoch, order in enumerate(orders):
            negatives = negative_positions(seed, epoch, c, probability, len(order))
            for position, i in enumerate(order):
                if labels[i] != c and position not in negatives:
                    continue
                sign = 1.0 if labels[i] == c else -1.0
                a = coefficient(loss, sign, W[c] @ X[i] + b[c])
                eta = step(t)
                t += 1
                W[c] *= 1 - eta * lam
                W[c] += eta * a * X[i]
                b[c] += eta * bias_rate * a
    return W, b
