"""Finding a violator in an embedding: a wrong class that comes within the margin [HM, 5.2 and 6].

Classes are scored by their prototypes as far as they are looked at. Where the products of a row
with all prototypes are known as they were at the beginning of a block, they rule out most classes
at once: what a class can have gained since is bounded by its prototype's norm times the way that
the row's embedding has moved. The classes left are scored anew, so that both ways decide alike.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.draws import dot, stride_of
from myriad.randomness import mix, unit

POSITIVE = np.uint64(1 << 40)
"""The number of the draw that picks one of several labels: beyond those of the wrong classes."""

MEMORY = np.dtype(
    [
        ("alpha", np.float64),  # sum of the squared gradients of a class, or of its steps
        ("last", np.int64),  # the class that violated its margin last, -1 for none
    ]
)


@inlined
def score(P, squares, z, c, scale):
    """Return the score of class `c`: ``P_c z`` for a scale of 1, ``2 P_c z - |P_c|^2`` for 2."""
    return scale * dot(P[c], z) - (scale - 1.0) * squares[c]


@inlined
def holds(labels, c):
    """Tell whether a class is one of the labels of a row."""
    found = False
    for label in labels:
        found |= label == c
    return found


@inlined
def skip_labels(place, labels):
    """Return the class at a place among the wrong ones; `labels` rise."""
    for label in labels:
        if place >= label:
            place += 1
    return place


@inlined
def draw_label(labels, key):
    """Return one of the labels of a row, each as likely as the others."""
    if len(labels) == 1:
        return labels[0]
    return labels[np.int64(unit(mix(key, POSITIVE)) * len(labels))]


@inlined
def is_remembered(P, squares, z, labels, label, bar, memory, scale, chain):
    """Tell whether one of the chain of last violators of `label` lies above the bar now.

    The chain ends at an empty slot and at any label of the row, which cannot violate; where it
    repeats, looking again finds nothing new, so a stop after `chain` classes is enough [HM, 6.3].
    """
    c = memory[label].last
    for _ in range(chain):
        if c < 0 or holds(labels, c):
            return False
        if score(P, squares, z, c, scale) > bar:
            return True
        c = memory[c].last
    return False


@jit
def mark_possible(products, bounds, labels, marks, scale, bar, moved, rounding):
    """Mark the wrong classes that may lie above the bar, and return their number.

    Parameters
    ----------
    products : float array of shape (n_classes,), of the prototypes with the row's embedding, both
        as they were at the beginning of the block.
    bounds : float array of shape (2, n_classes), squared norms and norms of the prototypes.
    labels : the labels of the row.
    marks : uint8 array of shape (n_classes,); written.
    moved : how far the embedding has moved since.
    rounding : bound on the relative error of a product.
    """
    count = 0
    for c in range(len(products)):
        square, norm = bounds[0, c], bounds[1, c]
        best = scale * products[c] - (scale - 1.0) * square
        possible = best + scale * moved * norm + rounding * square > bar
        marks[c] = possible
        count += possible
    for label in labels:
        count -= marks[label]
        marks[label] = 0
    return count


@inlined
def find_violator(P, squares, z, labels, key, bar, marks, scale, most, replacement):
    """Return the first class drawn that lies above the bar and the number of draws, or -1.

    Parameters
    ----------
    marks : classes that may lie above the bar, or empty: then all may.
    most : the most draws; without replacement no more than there are wrong classes.
    """
    n_wrong = len(P) - len(labels)
    place = np.int64(unit(mix(key, 0)) * n_wrong)
    stride = np.int64(0) if replacement else stride_of(key, n_wrong)
    for draw in range(most):
        c = skip_labels(place, labels)
        if (len(marks) == 0 or marks[c] != 0) and score(P, squares, z, c, scale) > bar:
            return c, draw + 1
        if replacement:
            place = np.int64(unit(mix(key, draw + 1)) * n_wrong)
        else:
            place += stride
            if place >= n_wrong:
                place -= n_wrong
    return -1, most


@inlined
def harmonic(rank):
    """Return ``1 + 1/2 + ... + 1/rank``, by its expansion where that is exact in float64."""
    total = 0.0
    if rank < 32:
        for j in range(1, rank + 1):
            total += 1.0 / j
        return total
    r = 1.0 / (rank * rank)
    tail = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r / 252.0))
    return np.log(rank) + 0.57721566490153286061 + 0.5 / rank - tail
