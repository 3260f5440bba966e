"""The joint objectives, one row at a time, weights plainly decayed."""

import math

import numpy as np

from tests.reference.draws import mix, unit
from tests.reference.optimised_weights import OptimisedWeights


def wrong_class(position, labels):
    return sorted(set(range(position + len(labels) + 1)) - set(labels))[position]


def find_stride(key, n):
    number = 0
    while True:
        stride = 1 + int(unit(mix(key, (1 << 64) - 1 - number)) * n)
        if math.gcd(stride, n) == 1:
            return stride
        number += 1


def pick_warp(scores, label, labels, key, options, last):
    wrong = [c for c in range(len(scores)) if c not in labels]
    n_wrong = len(wrong)
    violators = [c for c in wrong if 1 - scores[label] + scores[c] > 0]
    c = last[label]
    for _ in range(options.get("last_violators", 0)):
        if c < 0 or c in labels:
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
                position = int(unit(mix(key, draw)) * n_wrong)
            else:
                position = (start + draw * stride) % n_wrong
            if wrong[position] in violators:
                found, rank = wrong[position], n_wrong // (draw + 1)
                break
    last[label] = found
    if found < 0:
        return -1, 0.0
    if options.get("constant_weight"):
        return found, 1.0
    if options.get("exact_rank"):  # the label itself counts in the rank [GP, Eq. 2]
        return found, sum(1 / j for j in range(1, rank + 2)) * rank / (rank + 1)
    return found, sum(1 / j for j in range(1, rank + 1))


def push(objective, scores, labels, key, options, last):
    """Return the coefficient of the row for every class."""
    coefficients = np.zeros(len(scores))
    label = labels[0]
    if len(labels) > 1:
        label = labels[int(unit(mix(key, 1 << 40)) * len(labels))]
    if len(labels) == len(scores):  # no wrong class is left
        last[label] = -1
        return coefficients
    if objective == "softmax" and options.get("negatives"):
        n_wrong = len(scores) - 1
        n = min(options["negatives"], n_wrong)
        start, stride = int(unit(mix(key, 0)) * n_wrong), find_stride(key, n_wrong)
        drawn = [wrong_class((start + j * stride) % n_wrong, labels) for j in range(n)]
        shifted = scores[[label, *drawn]] + np.r_[0.0, np.full(n, np.log(n_wrong / n))]
        p = np.exp(shifted - shifted.max())
        coefficients[[label, *drawn]] -= p / p.sum()
        coefficients[label] += 1
        return coefficients
    if objective == "softmax":
        wrong = [c for c in range(len(scores)) if c != label]
        wrong.sort(key=lambda c: (-scores[c], c))
        hidden = np.isin(np.arange(len(scores)), wrong[: options.get("k", 1) - 1])
        p = np.where(hidden, 0.0, np.exp(scores - scores.max()))
        coefficients -= p / p.sum()
        coefficients[label] += 1
        return coefficients
    weight = 1.0
    if objective == "multiclass":
        shifted = np.where(np.isin(np.arange(len(scores)), labels), -np.inf, scores + 1)
        c = int(shifted.argmax())
        c = -1 if shifted[c] <= scores[label] else c
    elif objective in ("ranking", "auc"):
        c = wrong_class(int(unit(mix(key, 0)) * (len(scores) - len(labels))), labels)
        c = c if 1 - scores[label] + scores[c] > 0 else -1
    else:
        c, weight = pick_warp(scores, label, labels, key, options, last)
    if c >= 0:
        coefficients[label] += weight
        coefficients[c] -= weight
    return coefficients


def train(
    X, labels, orders, *, n_classes, objective, step, lam, bias_rate, seed,
    weights=None, tame=None, **options,
):  # fmt: skip
    """Return W and b; `step(t)` is the size of step t, `labels` a list for each row."""
    X = np.asarray(X, np.float64)
    optimiser = OptimisedWeights(n_classes, X.shape[1], **(tame or {}))
    last = np.full(n_classes, -1)
    everything = np.arange(n_classes)
    t = 0
    for epoch, order in enumerate(orders):
        root = mix(mix(seed, 0x70A1), epoch)
        optimiser.begin_epoch(epoch)
        for position, i in enumerate(order):
            if len(labels[i]):
                eta = step(t)
                t += 1
                key = mix(root, int(i))
                scores = optimiser.W @ X[i] + optimiser.b
                a = push(objective, scores, [int(c) for c in labels[i]], key, options, last)
                a *= 1.0 if weights is None else float(weights[i])
                for c in everything:
                    if a[c] != 0:
                        optimiser.step(c, X[i], a[c], eta, lam, bias_rate)
                    else:
                        optimiser.W[c] *= 1 - eta * lam
                optimiser.count(everything)
            optimiser.end_row(position, len(order))
    return optimiser.result()
