"""The multinomial logistic loss, ``log sum_c exp(s_c) - s_y`` [LS]."""

from __future__ import annotations

import math

from myriad._jit import inlined


@inlined
def probabilities(products, biases, sigma, out):
    """Write the probability of each class; the scores are ``sigma * products + biases``."""
    top = -math.inf
    for c in range(len(products)):
        score = sigma * products[c] + biases[c]
        out[c] = score
        top = max(top, score)
    total = 0.0
    for c in range(len(products)):
        out[c] = math.exp(out[c] - top)
        total += out[c]
    for c in range(len(products)):
        out[c] /= total
