"""Mini-batch SGD: the mean gradient of the rows of a batch, weights plainly decayed."""

import numpy as np

from tests.reference.draws import mix, negative_positions
from tests.reference.joint import push
from tests.reference.one_vs_rest import coefficient


def train(X, labels, orders, *, n_classes, batch, step, lam, bias_rate, seed, find):
    """Return W and b; `find(epoch, order)` makes a function that gives a row's coefficients."""
    W, b, t = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes), 0
    for epoch, order in enumerate(orders):
        coefficients = find(epoch, order)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            A = np.array(
                [coefficients(start + m, i, W @ X[i] + b) for m, i in enumerate(rows)]
            ) / len(rows)
            eta = step(t)
            t += 1
            W = (1 - eta * lam) * W + eta * A.T @ X[rows]
            b = b + eta * bias_rate * A.sum(axis=0)
    return W, b


def train_joint(X, labels, orders, *, n_classes, objective, seed, weights=None, warp=None, **more):
    last = np.full(n_classes, -1)

    def find(epoch, order):
        root = mix(mix(seed, 0x70A1), epoch)

        def coefficients(position, i, scores):
            own = [int(c) for c in labels[i]]
            a = push(objective, scores, own, mix(root, int(i)), warp or {}, last)
            return a * (1.0 if weights is None else weights[i])

        return coefficients

    return train(X, labels, orders, n_classes=n_classes, seed=seed, find=find, **more)


def train_one_vs_rest(X, labels, orders, *, n_classes, beta, loss, seed, weights=None, **more):
    own = [{i for i, row in enumerate(labels) if c in row} for c in range(n_classes)]

    def find(epoch, order):
        negatives = []
        for mine in own:
            wanted = beta * len(mine) / (len(labels) - len(mine)) if mine else 0.0
            chance, c = min(1.0, wanted), len(negatives)
            negatives.append(negative_positions(seed, epoch, c, chance, len(order)))

        def coefficients(position, i, scores):
            a = np.zeros(n_classes)
            for c in range(n_classes):
                if i in own[c] or position in negatives[c]:
                    a[c] = coefficient(loss, 1.0 if i in own[c] else -1.0, scores[c])
            return a * (1.0 if weights is None else weights[i])

        return coefficients

    return train(X, labels, orders, n_classes=n_classes, seed=seed, find=find, **more)
