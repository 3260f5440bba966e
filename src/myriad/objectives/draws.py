"""Drawing wrong classes for a row, and the score of a class wherever it comes from."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit_reassociated
from myriad.randomness import mix, unit

LABEL_DRAW = 1 << 40
"""The number of the draw that chooses among a row's labels; others are counted from 0."""


@jit_reassociated
def dot(w, x):
    """Return the product of two vectors, summed in vector registers."""
    total = w[0] * x[0]
    for j in range(1, len(w)):
        total += w[j] * x[j]
    return total


@inlined
def product_of(products, V, x, c):
    """Return the product of the row with class `c`: known, or made now if none is known."""
    return products[c] if len(products) > 0 else dot(V[c], x)


@inlined
def draw_label(key, labels):
    """Return the label of a row that is pushed up: each as likely as the others."""
    if len(labels) == 1:
        return np.int64(labels[0])
    return np.int64(labels[np.int64(unit(mix(key, LABEL_DRAW)) * len(labels))])


@inlined
def is_label(c, labels):
    """Tell whether a class is among the labels of a row."""
    found = False
    for label in labels:
        found = found or c == label
    return found


@inlined
def wrong_class(place, labels):
    """Return the class at a place among the wrong ones: all but `labels`, in order."""
    for label in labels:
        if place >= label:
            place += 1
    return place


@inlined
def draw_wrong(key, number, n_classes, labels):
    """Return draw `number` of a row: a wrong class, each as likely as the others."""
    place = np.int64(unit(mix(key, number)) * (n_classes - len(labels)))
    return wrong_class(place, labels)


@inlined
def stride_of(key, n):
    """Return a number without a common divisor with `n`: its multiples visit all places once."""
    number = 0
    while True:
        stride = 1 + np.int64(unit(mix(key, ~np.uint64(number))) * n)
        a, b = n, stride
        while b != 0:
            a, b = b, a % b
        if a == 1:
            return stride
        number += 1
