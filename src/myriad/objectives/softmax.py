"""The multinomial logistic loss, ``log sum_c exp(s_c) - s_y`` [LS]."""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.exponential import exponentiate, exponentiate_single, total

SIGN, MAGNITUDE, LOWEST = np.int32(31), np.int32(0x7FFFFFFF), np.int32(-0x80000000)


@jit
def largest(scores):
    """Return the largest of the scores."""
    top = scores[0]
    for c in range(1, len(scores)):
        top = max(top, scores[c])
    return top


@jit
def largest_single(scores):
    """Return the largest of float32 scores, found in vector registers; NaN where there is one.

    The largest integer can be found side by side in vector registers, the largest float not,
    because of NaN. Read as integers, the bits of floats are in the order of the floats once all
    bits but the sign are inverted in negative numbers.
    """
    bits, top = scores.view(np.int32), LOWEST
    for c in range(len(bits)):
        top = max(top, bits[c] ^ ((bits[c] >> SIGN) & MAGNITUDE))
    found = np.array([top ^ ((top >> SIGN) & MAGNITUDE)], np.int32)
    return found.view(np.float32)[0]


@inlined
def probabilities(products, biases, sigma, out, work):
    """Write the probability of each class; the scores are ``sigma * products + biases``.

    Parameters
    ----------
    out, work : float arrays of one type and of shape (n_classes,), the result and work space; both
        are changed in place.
    """
    for c in range(len(products)):
        out[c] = sigma * products[c] + biases[c]
    # exp(s_c - max s) / sum: no exponential overflows, and at least one of them is 1.
    top = largest_single(out) if out.itemsize == 4 else largest(out)
    for c in range(len(products)):
        out[c] -= top
    if out.itemsize == 4:
        exponentiate_single(out, work)
    else:
        exponentiate(out, work)
    scale = out.dtype.type(1.0 / total(out))
    for c in range(len(products)):
        out[c] *= scale
