"""Mutual information by its definition, one feature and one cell at a time."""

import math
from collections import Counter


def entropy(values):
    """Return the entropy of a list of things, in bits."""
    counts = Counter(values).values()
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts)


def mutual(first, second):
    """Return ``H(a) + H(b) - H(a, b)``."""
    return entropy(first) + entropy(second) - entropy(list(zip(first, second, strict=True)))


def round_values(values, bins):
    """Return the sign of each value, or its bin in the range of all."""
    values = [float(value) for value in values]
    if bins is None:
        return [value >= 0 for value in values]
    low, span = min(values), max(values) - min(values)
    if span == 0:
        return [0] * len(values)
    return [min(int((value - low) * (bins / span)), bins - 1) for value in values]


def inform(X, sets, n_classes, bins=None, several=False):
    """Return the information of each feature; `sets` holds the classes of each row."""
    kept = [i for i, classes in enumerate(sets) if classes]
    result = []
    for j in range(X.shape[1]):
        values = round_values(X[kept, j], bins)
        if several:
            about = [[c in sets[i] for i in kept] for c in range(n_classes)]
            result.append(sum(mutual(values, present) for present in about))
        else:
            result.append(mutual(values, [sets[i][0] for i in kept]))
    return result
