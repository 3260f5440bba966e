"""Weighted approximate ranking: draw wrong classes until one violates the margin [GP, 3.1].

The number of draws tells the rank of the truth, ``floor((C - 1) / draws)``, and the step is
weighted by the harmonic number of that rank. Options: draws without replacement, which miss no
violator; the exact rank, since all scores may be known; a constant weight; a cap on the draws; and
the memory of last violators [HM, 6], by which rows of classes still confused are passed over.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined
from myriad.objectives.draws import (
    draw_label,
    draw_wrong,
    is_label,
    product_of,
    stride_of,
    wrong_class,
)
from myriad.randomness import mix, unit

WARP = np.dtype(
    [
        ("replacement", np.bool_),
        ("exact", np.bool_),
        ("constant", np.bool_),
        ("max_draws", np.int64),
        ("chain", np.int64),  # how many last violators are looked at
    ]
)


@inlined
def violates(products, V, x, biases, sigma, truth, c):
    """Tell whether class `c` comes within the margin of the truth's score."""
    return 1.0 - truth + sigma * product_of(products, V, x, c) + biases[c] > 0.0


@inlined
def is_remembered(products, V, x, biases, sigma, truth, label, labels, last, chain):
    """Tell whether one of the chain of last violators of `label` violates the margin now.

    The chain ends at an empty slot and at any true label of the row; where it repeats, looking
    again finds nothing new.
    """
    c = last[label]
    for _ in range(chain):
        if c < 0 or is_label(c, labels):
            return False
        if violates(products, V, x, biases, sigma, truth, c):
            return True
        c = last[c]
    return False


@inlined
def find_by_draws(products, V, x, biases, sigma, truth, labels, key, option):
    """Return the first violator drawn and the number of draws, or -1 and the number made."""
    n_wrong = len(biases) - len(labels)
    most = min(n_wrong, option.max_draws)
    start = np.int64(unit(mix(key, 0)) * n_wrong)
    stride = np.int64(0) if option.replacement else stride_of(key, n_wrong)
    for draw in range(most):
        if option.replacement:
            c = draw_wrong(key, draw, len(biases), labels)
        else:
            c = wrong_class((start + draw * stride) % n_wrong, labels)
        if violates(products, V, x, biases, sigma, truth, c):
            return c, draw + 1
    return -1, most


@inlined
def count_violators(products, biases, sigma, truth, labels):
    """Return how many wrong classes of a row with known products violate the margin."""
    count = 0  # with the labels, taken out below: so the loop has no branch
    for c in range(len(products)):
        count += 1.0 - truth + sigma * products[c] + biases[c] > 0.0
    for c in labels:
        count -= 1.0 - truth + sigma * products[c] + biases[c] > 0.0
    return count


@inlined
def find_exactly(products, V, x, biases, sigma, truth, labels, key):
    """Return a violator, each as likely as the others, and the number of violators."""
    n_classes = len(biases)
    count = 0
    for c in range(n_classes):
        if not is_label(c, labels) and violates(products, V, x, biases, sigma, truth, c):
            count += 1
    if count == 0:
        return -1, 0
    place = np.int64(unit(mix(key, 0)) * count)
    for c in range(n_classes):
        if not is_label(c, labels) and violates(products, V, x, biases, sigma, truth, c):
            if place == 0:
                return c, count
            place -= 1
    return -1, count


@inlined
def pick(products, V, x, biases, sigma, labels, key, option, last, harmonic):
    """Return the violator found for a row and the weight of its step, or -1 and 0.

    Changes `last`, the memory of last violators, int64 of shape (n_classes,).
    """
    label = draw_label(key, labels)
    truth = sigma * product_of(products, V, x, label) + biases[label]
    if option.chain > 0 and is_remembered(
        products, V, x, biases, sigma, truth, label, labels, last, option.chain
    ):
        return -1, 0.0
    if len(labels) == len(biases):
        c, rank = -1, 0
    elif len(products) > 0 and count_violators(products, biases, sigma, truth, labels) == 0:
        c, rank = -1, 0  # what the draws would find too, in a hundredth of the time
    elif option.exact:
        c, rank = find_exactly(products, V, x, biases, sigma, truth, labels, key)
    else:
        c, draws = find_by_draws(products, V, x, biases, sigma, truth, labels, key, option)
        rank = (len(biases) - len(labels)) // max(1, draws)
    last[label] = c  # and nothing found forgets the memory
    if c < 0:
        return -1, 0.0
    return c, 1.0 if option.constant else harmonic[rank]
