"""Finding a violator in an embedding: a wrong class that comes within the margin [HM, 5.2 and 6].

The draws are those of `objectives.draws`, the one WARP sampler; `objectives.warp` is the same
search for linear models. There are two loops, because rounding decides at the margin: linear models
compare ``1 - s_y + s_c > 0`` and embeddings ``s_c > s_y - margin``, with scores from prototypes.

Only classes that are drawn are scored. Where the products of a row with all prototypes are known
from the beginning of the block, they exclude most classes at once: the score of a class has
increased since by at most the norm of its prototype times the distance that the embedding of the
row has moved. The other classes are scored again, so that the result is the same with and without
these products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.draws import (
    dot,
    draw_position,
    draw_stride,
    is_label,
    next_position,
    wrong_class,
)

CLASS_MEMORY = np.dtype(
    [
        ("alpha", np.float64),  # sum of the squared gradients of a class, or of its steps [HM, 7]
        ("last_violator", np.int64),  # the class that violated its margin last, -1 for none
    ]
)


class PrototypeNorms(NamedTuple):
    """Norms of the prototypes; changed in place.

    Attributes
    ----------
    squares : float array of shape (n_classes,), squared norms, kept up to date by every step.
    norms : float array of shape (n_classes,), norms as they were at the beginning of the block.
    """

    squares: Any
    norms: Any


@inlined
def score(P, squares, z, c, scale):
    """Return the score of class `c`: ``P_c z`` for a scale of 1, ``2 P_c z - |P_c|^2`` for 2.

    The second one is the Euclidean score ``-|P_c - z|^2`` but for ``|z|^2``, which is the same for
    all classes.
    """
    return scale * dot(P[c], z) - (scale - 1.0) * squares[c]


@inlined
def has_known_violator(P, squares, z, labels, label, threshold, memory, scale, chain):
    """Return whether a class in the chain of last violators of `label` is above the threshold.

    The chain ends at an empty entry, at a label of the row, which cannot violate, or after `chain`
    classes, since it may be a cycle [HM, 6.3].
    """
    c = memory[label].last_violator
    for _ in range(chain):
        if c < 0 or is_label(c, labels):
            return False
        if score(P, squares, z, c, scale) > threshold:
            return True
        c = memory[c].last_violator
    return False


@jit
def mark_possible(products, norms, labels, marks, scale, threshold, moved, rounding):
    """Mark the wrong classes whose score may be above the threshold; return their number.

    Parameters
    ----------
    products : float array of shape (n_classes,), of the prototypes with the row's embedding, both
        as they were at the beginning of the block.
    norms : `PrototypeNorms`.
    labels : the labels of the row.
    marks : uint8 array of shape (n_classes,); written.
    moved : how far the embedding has moved since.
    rounding : bound on the relative error of a product.
    """
    count = 0
    for c in range(len(products)):
        square, norm = norms.squares[c], norms.norms[c]
        best = scale * products[c] - (scale - 1.0) * square
        # |P_c (z' - z)| <= |P_c| |z' - z|, by the inequality of Cauchy and Schwarz.
        possible = best + scale * moved * norm + rounding * square > threshold
        marks[c] = possible
        count += possible
    for label in labels:
        count -= marks[label]
        marks[label] = 0
    return count


@inlined
def find_violator(P, squares, z, labels, key, threshold, marks, scale, max_draws, replacement):
    """Return the first class drawn whose score is above the threshold, or -1, and the draws made.

    Parameters
    ----------
    marks : uint8 array of shape (n_classes,), classes that may be above the threshold; or empty, if
        all may be.
    max_draws : without replacement, no more than there are wrong classes.
    """
    n_wrong = len(P) - len(labels)
    stride = draw_stride(key, n_wrong, replacement)
    position = draw_position(key, 0, n_wrong)
    for draw in range(max_draws):
        c = wrong_class(position, labels)
        if (len(marks) == 0 or marks[c] != 0) and score(P, squares, z, c, scale) > threshold:
            return c, draw + 1
        position = next_position(position, stride, key, draw + 1, n_wrong)
    return -1, max_draws


@inlined
def harmonic(rank):
    """Return ``1 + 1/2 + ... + 1/rank``, by its expansion where that is exact in float64."""
    total = 0.0
    if rank < 32:
        for j in range(1, rank + 1):
            total += 1.0 / j
        return total
    # log r + gamma + 1/(2 r) - 1/(12 r^2) + 1/(120 r^4) - 1/(252 r^6)
    r = 1.0 / (rank * rank)
    tail = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r / 252.0))
    return np.log(rank) + 0.57721566490153286061 + 0.5 / rank - tail
