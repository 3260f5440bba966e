"""The multiclass loss of Crammer and Singer, ``max_c (c != y) + s_c - s_y`` [GP, 3.1]."""

from __future__ import annotations

from myriad._jit import inlined

TILE = 32
"""Classes that are skipped together where none of them exceeds the largest score so far."""


@inlined
def pick(products, biases, sigma, label):
    """Return the class that violates the margin most, or -1 if none does; the lowest on ties.

    Parameters
    ----------
    products : float array of shape (n_classes,); the scores are ``sigma * products + biases``.
    """
    best = sigma * products[label] + biases[label]
    worst = -1
    for first in range(0, len(products), TILE):
        last = min(first + TILE, len(products))
        # Counting runs in vector registers, while a search for the largest does not. The label
        # itself may be counted, which costs a look at its tile and changes nothing.
        above = 0
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
