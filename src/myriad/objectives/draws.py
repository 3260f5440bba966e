"""Random draws of labels and of wrong classes for a row, each a function of the row's key.

This is the one WARP sampler: linear models (`objectives.warp`) and embeddings
(`training.embedding.violators`) draw the same wrong classes in the same order for the same key.
They score classes differently, so each has its own loops around the draws.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit_reassociated
from myriad.randomness import mix, unit

LABEL_DRAW = 1 << 40
"""The number of the draw that chooses among a row's labels: beyond those of wrong classes, which
are counted from 0."""


@jit_reassociated
def dot(w, x):
    """Return the product of two vectors, summed in vector registers."""
    total = w[0] * x[0]
    for j in range(1, len(w)):
        total += w[j] * x[j]
    return total


@inlined
def product_of(products, V, x, c):
    """Return the product of a row with class `c`: looked up, or computed if `products` is empty."""
    return products[c] if len(products) > 0 else dot(V[c], x)


@inlined
def draw_label(key, labels):
    """Return one of the labels of a row, each with the same probability."""
    if len(labels) == 1:
        return np.int64(labels[0])
    return np.int64(labels[np.int64(unit(mix(key, LABEL_DRAW)) * len(labels))])


@inlined
def is_label(c, labels):
    """Return whether a class is among the labels of a row."""
    found = False
    for label in labels:
        found = found or c == label
    return found


@inlined
def wrong_class(position, labels):
    """Return the class at a position among the wrong ones: all but `labels`, which ascend."""
    for label in labels:
        if position >= label:
            position += 1
    return position


@inlined
def draw_position(key, number, n_wrong):
    """Return draw `number` of a row: a position among its wrong classes, with replacement."""
    return np.int64(unit(mix(key, number)) * n_wrong)


@inlined
def draw_wrong(key, number, n_classes, labels):
    """Return draw `number` of a row: a wrong class, each with the same probability."""
    return wrong_class(draw_position(key, number, n_classes - len(labels)), labels)


@inlined
def draw_stride(key, n_wrong, replacement):
    """Return the step from draw to draw without replacement; 0 for draws with replacement."""
    return np.int64(0) if replacement else stride_of(key, n_wrong)


@inlined
def next_position(position, stride, key, number, n_wrong):
    """Return the position of draw `number` > 0, given that of the draw before it.

    Without replacement, positions are ``start + number * stride`` modulo `n_wrong`: with a stride
    that has no common divisor with `n_wrong`, each one comes once in `n_wrong` draws.
    """
    if stride == 0:
        return draw_position(key, number, n_wrong)
    position += stride
    return position - n_wrong if position >= n_wrong else position


@inlined
def stride_of(key, n):
    """Return a number from 1 to `n` without a common divisor with `n`, drawn by trial."""
    number = 0
    while True:
        # Counted down from the largest 64-bit number: no draw of a class uses these.
        stride = 1 + np.int64(unit(mix(key, ~np.uint64(number))) * n)
        a, b = n, stride
        while b != 0:
            a, b = b, a % b
        if a == 1:
            return stride
        number += 1
