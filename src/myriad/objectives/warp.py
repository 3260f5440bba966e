"""Weighted approximate ranking (WARP): draw wrong classes until one violates the margin [GP, 3.1].

The number of draws k estimates the rank of the truth, ``r = floor((C - 1) / k)``, and the step is
weighted by the harmonic number ``l_r = 1 + 1/2 + ... + 1/r``. Options: draws without replacement,
which miss no violator; the exact rank with the weight of [GP, Eq. 2], as all scores may be known;
a constant weight; a limit on the draws; and the memory of last violators [HM, 6], which skips rows
of classes still confused.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined
from myriad.objectives.draws import (
    draw_label,
    draw_position,
    draw_stride,
    is_label,
    next_position,
    product_of,
    wrong_class,
)

WARP = np.dtype(
    [
        ("replacement", np.bool_),
        ("exact", np.bool_),  # count all violators instead of estimating their number
        ("constant", np.bool_),  # give all steps the weight 1
        ("max_draws", np.int64),
        ("chain", np.int64),  # how many last violators are tried, 0 for no memory
    ]
)


@inlined
def violates(products, V, x, biases, sigma, truth, c):
    """Return whether class `c` comes within the margin 1 of `truth`, the score of the label."""
    return 1.0 - truth + sigma * product_of(products, V, x, c) + biases[c] > 0.0


@inlined
def has_known_violator(products, V, x, biases, sigma, truth, label, labels, last_violators, chain):
    """Return whether one of the chain of last violators of `label` violates the margin now.

    The chain is v(y), v(v(y)), ... [HM, 6.3]. It ends at an empty entry and at any label of the
    row: else two classes confused with each other would skip all their rows for ever. Where it
    repeats, its classes are tried again in vain, up to `chain` of them.
    """
    c = last_violators[label]
    for _ in range(chain):
        if c < 0 or is_label(c, labels):
            return False
        if violates(products, V, x, biases, sigma, truth, c):
            return True
        c = last_violators[c]
    return False


@inlined
def find_by_draws(products, V, x, biases, sigma, truth, labels, key, option):
    """Return the first violator drawn and the number of draws, or -1 and the number made.

    `training.embedding.violators.find_violator` is the same loop for embeddings. It stays apart
    because the margin there is compared in another order of operations, ``score > bar``, whose
    rounding decides differently, and a scoring function handed to a kernel would miss the cache.
    """
    n_wrong = len(biases) - len(labels)
    most = min(n_wrong, option.max_draws)
    stride = draw_stride(key, n_wrong, option.replacement)
    position = draw_position(key, 0, n_wrong)
    for draw in range(most):
        c = wrong_class(position, labels)
        if violates(products, V, x, biases, sigma, truth, c):
            return c, draw + 1
        position = next_position(position, stride, key, draw + 1, n_wrong)
    return -1, most


@inlined
def count_violators(products, biases, sigma, truth, labels):
    """Return how many wrong classes of a row with known products violate the margin."""
    count = 0  # the labels are counted first and taken out below: so the loop has no branch
    for c in range(len(products)):
        count += 1.0 - truth + sigma * products[c] + biases[c] > 0.0
    for c in labels:
        count -= 1.0 - truth + sigma * products[c] + biases[c] > 0.0
    return count


@inlined
def find_exactly(products, V, x, biases, sigma, truth, labels, key):
    """Return a violator, each with the same probability, and the number of violators."""
    n_classes = len(biases)
    count = 0
    for c in range(n_classes):
        if not is_label(c, labels) and violates(products, V, x, biases, sigma, truth, c):
            count += 1
    if count == 0:
        return -1, 0
    # The violator to return is drawn by its position among the violators, found in a second pass.
    skipped = draw_position(key, 0, count)
    for c in range(n_classes):
        if not is_label(c, labels) and violates(products, V, x, biases, sigma, truth, c):
            if skipped == 0:
                return c, count
            skipped -= 1
    return -1, count


@inlined
def exact_rank_weight(count, harmonic):
    """Return the weight of one of `count` violators  [GP, Eq. 2].

    The regularised rank r there counts the label itself, so that r is ``count + 1``, and each
    violator has the weight ``l_r / r``; the one that is drawn stands for all of them.
    """
    rank = count + 1.0
    return (harmonic[count] + 1.0 / rank) * count / rank


@inlined
def pick(products, V, x, biases, sigma, labels, key, option, last_violators, harmonic):
    """Return the violator found for a row and the weight of its step, or -1 and 0.

    Parameters
    ----------
    option : record of `WARP`.
    last_violators : int64 array of shape (n_classes,), the class that violated the margin of each
        class last, -1 for none; changed in place.
    harmonic : float64 array, the harmonic numbers from ``l_0 = 0`` on.
    """
    label = draw_label(key, labels)
    truth = sigma * product_of(products, V, x, label) + biases[label]
    if option.chain > 0 and has_known_violator(
        products, V, x, biases, sigma, truth, label, labels, last_violators, option.chain
    ):
        return -1, 0.0
    # The search, or a short cut where it cannot find anything.
    if len(labels) == len(biases):
        c, rank = -1, 0
    elif len(products) > 0 and count_violators(products, biases, sigma, truth, labels) == 0:
        c, rank = -1, 0  # what the draws would find too, in a hundredth of the time
    elif option.exact:
        c, rank = find_exactly(products, V, x, biases, sigma, truth, labels, key)
    else:
        c, draws = find_by_draws(products, V, x, biases, sigma, truth, labels, key, option)
        rank = (len(biases) - len(labels)) // max(1, draws)
    last_violators[label] = c  # where none was found, the memory is cleared
    if c < 0:
        return -1, 0.0
    if option.constant:
        return c, 1.0
    return c, exact_rank_weight(rank, harmonic) if option.exact else harmonic[rank]
