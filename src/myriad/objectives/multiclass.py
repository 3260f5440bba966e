"""The multiclass loss of Crammer and Singer, ``max_c (c != y) + s_c - s_y`` [GP, 3.1]."""

from __future__ import annotations

from myriad._jit import inlined

TILE = 32
"""Classes that are passed over together where none of them is worse than the worst so far."""


@inlined
def pick(products, biases, sigma, label):
    """Return the class that violates the margin most, or -1 if none does; lowest class on ties.

    Parameters
    ----------
    products : float array of shape (n_classes,); the scores are ``sigma * products + biases``.
    """
    best = sigma * products[label] + biases[label]
    worst = -1
    for first in range(0, len(products), TILE):
        last = min(first + TILE, len(products))
        above = 0  # counting runs in vector registers, looking for the largest does not
        for c in range(first, last):
            above += 1.0 + sigma * products[c] + biases[c] > best
        if above == 0:
            continue
        for c in range(first, last):
            score = 1.0 + sigma * products[c] + biases[c]
            if score > best and c != label:
                best = score
                worst = c
    return worst
