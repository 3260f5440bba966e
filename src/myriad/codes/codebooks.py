# mypy: disable-error-code="no-untyped-def"
"""One codebook by k-means, for points of a few dimensions.

Written here because faiss takes five to ten times as long on points of 8 dimensions, and a product
code needs thousands of codebooks; faiss is the reference in the tests.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.arrays import Float
from myriad.codes.product_kernels import nearest, transpose


def learn_codebook(points: Float, n_centroids: int, *, rounds: int) -> Float:
    """Return `n_centroids` means (n_centroids, d) of `points` (n, d), by Lloyd's algorithm.

    The points must be in random order: the first ones are the initial centroids. Stops early when
    no point changes its centroid.
    """
    book = np.array(points[:n_centroids], np.float32)
    _refine(points, book, rounds)
    return book


@jit
def _refine(points, book, rounds):
    n, d = points.shape
    transposed = np.empty((d, book.shape[0]), np.float32)
    halves = np.empty(book.shape[0], np.float32)
    scores = np.empty(book.shape[0], np.float32)
    assigned = np.full(n, -1, np.int32)
    for _ in range(rounds):
        transpose(book, transposed, halves)
        changed = 0
        for i in range(n):
            c = nearest(points[i], transposed, halves, scores)
            changed += c != assigned[i]
            assigned[i] = c
        if changed == 0:
            break
        _move_centroids(points, assigned, book)


@jit
def _move_centroids(points, assigned, book):
    """Move each centroid to the mean of its points, an empty one to a point of large error."""
    n_centroids, d = book.shape
    sums = np.zeros((n_centroids, d), np.float64)
    counts = np.zeros(n_centroids, np.int64)
    for i in range(points.shape[0]):
        counts[assigned[i]] += 1
        for j in range(d):
            sums[assigned[i], j] += points[i, j]
    empty = 0
    for c in range(n_centroids):
        empty += counts[c] == 0
        for j in range(d):
            if counts[c] > 0:
                book[c, j] = sums[c, j] / counts[c]
    if empty > 0:
        _fill_empty(points, assigned, counts, book)


@jit
def _fill_empty(points, assigned, counts, book):
    """Move each centroid without points to a point of large error, a different one each time."""
    n, d = points.shape
    errors = np.empty(n, np.float64)
    for i in range(n):
        errors[i] = _distance(points[i], book[assigned[i]])
    for c in range(book.shape[0]):
        if counts[c] == 0:
            worst = np.argmax(errors)
            if errors[worst] == 0.0:
                return  # fewer distinct points than centroids: the rest may be anywhere
            for i in range(n):
                if _distance(points[i], points[worst]) == 0.0:
                    errors[i] = 0.0
            for j in range(d):
                book[c, j] = points[worst, j]


@jit
def _distance(x, z):
    """Return the squared distance, float64."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (np.float64(x[j]) - np.float64(z[j])) ** 2
    return total
