"""The multinomial logistic loss, ``log sum_c exp(s_c) - s_y`` [LS]."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives.exponential import exponentiate, exponentiate_single, total

TILE = 32


@inlined
def largest(scores):
    """Return the largest of the scores."""
    top = scores[0]
    for first in range(0, len(scores), TILE):
        last = min(first + TILE, len(scores))
        above = 0  # counting runs in vector registers, looking for the largest does not
        for c in range(first, last):
            above += scores[c] > top
        if above > 0:
            for c in range(first, last):
                top = max(top, scores[c])
    return top


@inlined
def probabilities(products, biases, sigma, out, work):
    """Write the probability of each class; the scores are ``sigma * products + biases``.

    `out` and `work`, work space, are float arrays of one type and of shape (n_classes,).
    """
    for c in range(len(products)):
        out[c] = sigma * products[c] + biases[c]
    top = largest(out)
    for c in range(len(products)):
        out[c] -= top
    if out.itemsize == 4:
        exponentiate_single(out, work)
    else:
        exponentiate(out, work)
    scale = out.dtype.type(1.0 / total(out))
    for c in range(len(products)):
        out[c] *= scale
