"""Wsabie and Wsabie++ [HM, Table 3], one row at a time."""

import numpy as np

from tests.reference.draws import mix, unit
from tests.reference.joint import find_stride

POSITIVE = 1 << 40


def wrong_classes(n_classes, labels):
    return [c for c in range(n_classes) if c not in labels]


def chain_of(last, label, labels, order):
    """The last violators of a label, up to an order, an empty slot or a label of the row."""
    chain, c = [], last[label]
    for _ in range(order):
        if c < 0 or c in labels:
            break
        chain.append(c)
        c = last[c]
    return chain


def find_violator(violators, wrong, key, *, most, replacement):
    n = len(wrong)
    if not replacement:
        most = min(most, n)
    position, stride = int(unit(mix(key, 0)) * n), find_stride(key, n)
    for draw in range(most):
        if wrong[position] in violators:
            return wrong[position], draw + 1
        position = int(unit(mix(key, draw + 1)) * n) if replacement else (position + stride) % n
    return -1, most


class Sequential:
    """The state of a training that visits one row after the other."""

    def __init__(self, V, n_classes, **options):
        self.V, self.P = V.copy(), options.pop("P", np.zeros((n_classes, len(V)))).copy()
        self.alpha_V, self.alpha_P = np.zeros(len(V)), np.zeros(n_classes)
        self.last = np.full(n_classes, -1)
        self.options = {
            "discriminant": "euclidean",
            "rank_weight": False,
            "last_violators": 0,
            "adagrad": True,
            "replacement": False,
            "max_norm": None,
            "most": n_classes,
            "confusion": np.zeros((n_classes, n_classes)),
        } | options
        self.draws = self.steps = self.passed = 0

    def score(self, z):
        if self.options["discriminant"] == "linear":
            return self.P @ z
        return -((self.P - z) ** 2).sum(axis=1)

    def visit(self, x, labels, key):
        options = self.options
        labels = [int(label) for label in labels]
        if not 0 < len(labels) < len(self.P):
            return
        label = labels[0]
        if len(labels) > 1:
            label = labels[int(unit(mix(key, POSITIVE)) * len(labels))]
        z = self.V @ x
        scores = self.score(z)
        wrong = wrong_classes(len(self.P), labels)
        violators = {c for c in wrong if options["margin"] - scores[label] + scores[c] > 0}
        if violators & set(chain_of(self.last, label, labels, options["last_violators"])):
            self.passed += 1
            return
        c, draws = find_violator(
            violators, wrong, key, most=options["most"], replacement=options["replacement"]
        )
        self.draws += draws
        self.last[label] = c
        if c < 0:
            return
        weight = 1.0
        if options["rank_weight"]:
            weight = sum(1 / j for j in range(1, len(wrong) // draws + 1))
        self.step(x, z, label, c, weight * (1 - options["confusion"][label, c]))

    def step(self, x, z, label, c, weight):
        if self.options["discriminant"] == "linear":
            slopes = {label: -z, c: z}
            map_slope = np.outer(self.P[c] - self.P[label], x)
        else:
            slopes = {label: 2 * (self.P[label] - z), c: -2 * (self.P[c] - z)}
            map_slope = 2 * np.outer(self.P[c] - self.P[label], x)
        self.steps += 1
        self.V -= self.move(self.alpha_V, slice(None), weight * map_slope)
        self.V = self.bound(self.V)
        for g, slope in slopes.items():
            self.P[g] -= self.move(self.alpha_P, slice(g, g + 1), weight * slope[None])[0]
        self.P = self.bound(self.P)

    def move(self, alpha, part, slope):
        eta, adagrad = self.options["eta"], self.options["adagrad"]
        if not adagrad:
            return eta * slope
        alpha[part] += 1 if adagrad == "count" else (slope**2).mean(axis=1)
        with np.errstate(divide="ignore"):
            steps = np.where(alpha[part] > 0, eta / np.sqrt(alpha[part]), 0.0)
        return steps[:, None] * slope

    def bound(self, rows):
        most = self.options["max_norm"]
        if most is None:
            return rows
        norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return rows * np.minimum(1.0, most / np.maximum(norms, 1e-300))


def train(X, label_lists, orders, V, *, n_classes, seed, **options):
    """Return the state after epochs over the rows in the given orders."""
    X = np.asarray(X, np.float64)
    state = Sequential(V, n_classes, **options)
    for epoch, order in enumerate(orders):
        root = mix(mix(seed, 0xE3BED), epoch)
        for i in order:
            state.visit(X[i], label_lists[i], mix(root, int(i)))
    return state
