"""The ranking loss on one random wrong class, ``max(0, 1 - s_y + s_c)`` [GP, 3.1; HM, 5.1]."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives.draws import draw_wrong, product_of


@inlined
def pick(products, V, x, biases, sigma, label, labels, key):
    """Return the wrong class drawn for a row if it violates the margin, else -1."""
    if len(labels) == len(biases):  # no class is wrong
        return -1
    c = draw_wrong(key, 0, len(biases), labels)
    truth = sigma * product_of(products, V, x, label) + biases[label]
    score = sigma * product_of(products, V, x, c) + biases[c]
    return c if 1.0 - truth + score > 0.0 else -1
