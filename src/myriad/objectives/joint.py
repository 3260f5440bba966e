"""The objectives over all classes of a row: the pair of classes that a step changes."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives import JOINT_OBJECTIVES, warp
from myriad.objectives.draws import draw_label, draw_wrong, is_label, product_of

MULTICLASS, RANKING, WARP, AUC, SOFTMAX = (
    JOINT_OBJECTIVES[name] for name in ("multiclass", "ranking", "warp", "auc", "softmax")
)

TILE = 32
"""Classes that are skipped together where none of them exceeds the largest score so far."""


@inlined
def pick_pair(setting, products, V, x, biases, sigma, labels, key, last_violators, harmonic):
    """Return the label whose score a step raises, the class whose score it lowers, and its weight.

    The class is -1 where no step is made [GP, Table 1]. Softmax, whose steps change all classes,
    has kernels of its own.

    Parameters
    ----------
    setting : record with the number of the `objective` and the options of `warp`.
    products : float array of shape (n_classes,), the products of the row with all stored weights,
        or empty: then products are computed from `V` and `x` as they are needed.
    biases, sigma : the scores are ``sigma * products + biases``.
    labels : int32 array, the labels of the row, ascending; at least one.
    key : of the row's random draws.
    last_violators, harmonic : see `objectives.warp`.
    """
    label = draw_label(key, labels)
    if setting.objective == MULTICLASS:
        return label, pick_worst(products, biases, sigma, label, labels), 1.0
    # The loss of auc [HM, 5.1] is that of ranking on one random label and one random wrong class:
    # a row of several labels is one sample of its pairs.
    if setting.objective == RANKING or setting.objective == AUC:
        return label, pick_random(products, V, x, biases, sigma, label, labels, key), 1.0
    c, weight = warp.pick(
        products, V, x, biases, sigma, labels, key, setting.warp, last_violators, harmonic
    )
    return label, c, weight


@inlined
def pick_worst(products, biases, sigma, label, labels):
    """Return the class that violates the margin most, or -1 if none does; the lowest on ties.

    The multiclass loss of Crammer and Singer is ``max_c (c != y) + s_c - s_y`` [GP, 3.1]. If a row
    has several labels, y is the one drawn, and no other label is a wrong class.

    Parameters
    ----------
    products : float array of shape (n_classes,); the scores are ``sigma * products + biases``.
    """
    best = sigma * products[label] + biases[label]
    worst = -1
    for first in range(0, len(products), TILE):
        last = min(first + TILE, len(products))
        # Counting runs in vector registers, while a search for the largest does not. The labels
        # themselves may be counted, which costs a look at their tiles and changes nothing.
        above = 0
        for c in range(first, last):
            above += 1.0 + sigma * products[c] + biases[c] > best
        if above == 0:
            continue
        for c in range(first, last):
            score = 1.0 + sigma * products[c] + biases[c]
            if score > best and not is_label(c, labels):
                best = score
                worst = c
    return worst


@inlined
def pick_random(products, V, x, biases, sigma, label, labels, key):
    """Return the wrong class drawn for a row if it violates the margin, else -1.

    The ranking loss on one random wrong class is ``max(0, 1 - s_y + s_c)`` [GP, 3.1; HM, 5.1].
    """
    if len(labels) == len(biases):  # no class is wrong
        return -1
    c = draw_wrong(key, 0, len(biases), labels)
    truth = sigma * product_of(products, V, x, label) + biases[label]
    score = sigma * product_of(products, V, x, c) + biases[c]
    return c if 1.0 - truth + score > 0.0 else -1
