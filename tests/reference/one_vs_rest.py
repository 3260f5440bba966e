"""Weighted one-vs-rest, one class and one row at a time, weights plainly decayed."""

import math

import numpy as np

from tests.reference.draws import negative_positions
from tests.reference.optimised_weights import OptimisedWeights


def coefficient(loss, sign, score):
    if loss == "hinge":
        return sign if sign * score < 1 else 0.0
    if loss == "logistic":
        return sign / (1 + math.exp(sign * score))
    if loss == "perceptron":
        return sign if sign * score <= 0 else 0.0
    return 2 * (sign - score)


def train(
    X, labels, orders, *, n_classes, step, beta, lam, bias_rate, loss, seed,
    weights=None, tame=None,
):  # fmt: skip
    """Return W and b; `step(t)` is the size of a class's step t, `labels` a list for each row."""
    X = np.asarray(X, np.float64)
    optimiser = OptimisedWeights(n_classes, X.shape[1], **(tame or {}))
    t = np.zeros(n_classes, int)
    own = [{i for i, row in enumerate(labels) if c in row} for c in range(n_classes)]
    for epoch, order in enumerate(orders):
        optimiser.begin_epoch(epoch)
        negatives = []
        for c in range(n_classes):
            wanted = beta * len(own[c]) / (len(labels) - len(own[c])) if own[c] else 0.0
            negatives.append(negative_positions(seed, epoch, c, min(1.0, wanted), len(order)))
        for position, i in enumerate(order):
            for c in range(n_classes):
                if i not in own[c] and position not in negatives[c]:
                    continue
                sign = 1.0 if i in own[c] else -1.0
                a = coefficient(loss, sign, optimiser.W[c] @ X[i] + optimiser.b[c])
                a *= 1.0 if weights is None else float(weights[i])
                eta = step(t[c])
                t[c] += 1
                optimiser.step(c, X[i], a, eta, lam, bias_rate)
                optimiser.count([c])
            optimiser.end_row(position, len(order))
    return optimiser.result()
