"""The joint objectives, one row at a time, weights plainly decayed."""

import math

import numpy as np

from tests.reference.draws import mix, unit


def wrong_class(place, label):
    return place if place < label else place + 1


def find_stride(key, n):
    number = 0
    while True:
        stride = 1 + int(unit(mix(key, (1 << 64) - 1 - number)) * n)
        if math.gcd(stride, n) == 1:
            return stride
        number += 1


def pick_warp(scores, label, key, options, last):
    n_wrong = len(scores) - 1
    violators = [c for c in range(len(scores)) if c != label and 1 - scores[label] + scores[c] > 0]
    c = last[label]
    for _ in range(options.get("last_violators", 0)):
        if c < 0 or c == label:
            break
        if c in violators:
            return -1, 0.0
        c = last[c]
    found, rank = -1, 0
    if options.get("exact_rank"):
        if violators:
            rank = len(violators)
            found = violators[int(unit(mix(key, 0)) * rank)]
    else:
        most = min(n_wrong, options.get("max_draws") or n_wrong)
        start = int(unit(mix(key, 0)) * n_wrong)
        stride = find_stride(key, n_wrong)
        for draw in range(most):
            if options.get("replacement", True):
                place = int(unit(mix(key, draw)) * n_wrong)
            else:
                place = (start + draw * stride) % n_wrong
            if wrong_class(place, label) in violators:
                found, rank = wrong_class(place, label), n_wrong // (draw + 1)
                break
    last[label] = found
    if found < 0:
        return -1, 0.0
    weight = 1.0 if options.get("constant_weight") else sum(1 / j for j in range(1, rank + 1))
    return found, weight


def push(objective, scores, label, key, options, last):
    """Return the coefficient of the row for every class."""
    coefficients = np.zeros(len(scores))
    if objective == "softmax":
        p = np.exp(scores - scores.max())
        coefficients -= p / p.sum()
        coefficients[label] += 1
        return coefficients
    weight = 1.0
    if objective == "multiclass":
        shifted = scores + 1
        shifted[label] -= 1
        c = int(shifted.argmax())
        c = -1 if shifted[c] <= scores[label] else c
    elif objective == "ranking":
        c = wrong_class(int(unit(mix(key, 0)) * (len(scores) - 1)), label)
        c = c if 1 - scores[label] + scores[c] > 0 else -1
    else:
        c, weight = pick_warp(scores, label, key, options, last)
    if c >= 0:
        coefficients[label] += weight
        coefficients[c] -= weight
    return coefficients


def train(X, labels, orders, *, n_classes, objective, step, lam, bias_rate, seed, **options):
    """Return W and b; `step(t)` is the size of step t."""
    X = np.asarray(X, np.float64)
    W, b = np.zeros((n_classes, X.shape[1])), np.zeros(n_classes)
    last = np.full(n_classes, -1)
    t = 0
    for epoch, order in enumerate(orders):
        root = mix(mix(seed, 0x70A1), epoch)
        for i in order:
            eta = step(t)
            t += 1
            key = mix(root, int(i))
            a = push(objective, W @ X[i] + b, int(labels[i]), key, options, last)
            W *= 1 - eta * lam
            W += eta * a[:, None] * X[i]
            b += eta * bias_rate * a
    return W, b
