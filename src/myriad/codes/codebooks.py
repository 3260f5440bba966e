# mypy: disable-error-code="no-untyped-def"
"""One codebook by k-means, for points of a few dimensions.

Written here because faiss takes five to ten times as long on points of 8 dimensions, and a product
code needs thousands of codebooks; faiss is the reference in the tests.

It differs from Lloyd's algorithm in two ways, which together reach in five rounds the error that it
reaches in twelve (``benchmarks/codebooks.py``). The centroids move after every eighth of the points
instead of after all of them. And one centroid of five is not a random point at first, but drawn
after the first round among the points that lie far from the others, as k-means++ does.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import intrinsic, ir, jit, jit_reassociated, types
from myriad.arrays import Float
from myriad.codes.product_kernels import dot_eight, load_eight, nearest, transpose

_PARTS = 8  # of the points, after each of which the centroids move
_TOP, _ZERO, _NONE = np.int32(0x7FFFFFFF), np.int32(0), np.int32(-1)
_INDEX = np.int32(255)  # the bits of a score that are replaced by the number of the centroid
_SCORE = np.int32(~255)
_HALF = np.float32(0.5)


def learn_codebook(points: Float, n_centroids: int, *, rounds: int) -> Float:
    """Return `n_centroids` means (n_centroids, d) of `points` (n, d), by k-means.

    The points must be in random order: some are drawn by their number. Stops early when no point
    changes its centroid. At most 256 centroids.
    """
    book = np.array(points[:n_centroids], np.float32)
    book[-(-4 * n_centroids // 5) :] = book[
        0
    ]  # copies of a centroid get no points, and are drawn later
    assigned = np.full(len(points), _NONE)
    sums, counts = np.zeros(book.shape, np.float64), np.zeros(len(book), np.int64)
    halves, scores = np.empty((2, len(book)), np.float32)
    transposed = np.empty(book.T.shape, np.float32)
    _refine(points, book, rounds, assigned, sums, counts, transposed, halves, scores)
    return book


@jit
def _refine(points, book, rounds, assigned, sums, counts, transposed, halves, scores):
    """Move the centroids of `book`; the other arrays are work space.

    Parameters
    ----------
    assigned : int32 array of shape (n,), the centroid of each point, -1 at first.
    sums, counts : float64 array of shape (n_centroids, d) and int64 array of shape (n_centroids,),
        the sum and the number of the points of each centroid, zero at first.
    transposed, halves, scores : see `product_kernels`.
    """
    n, d = points.shape
    size = -(-n // _PARTS)
    for _ in range(rounds):
        changed = 0
        for start in range(0, n, size):
            transpose(book, transposed, halves)
            for i in range(start, min(start + size, n)):
                if d == 8:
                    c = _nearest_eight(points[i], transposed, halves)
                else:
                    c = nearest(points[i], transposed, halves, scores)
                if c != assigned[i]:
                    changed += 1
                    _reassign(points[i], assigned[i], c, sums, counts)
                    assigned[i] = c
            _move_centroids(sums, counts, book)
        if changed == 0:
            break
        _recompute_sums(points, assigned, sums, counts)
        _move_centroids(sums, counts, book)
        if _count_empty(counts) > 0:
            _fill_empty(points, assigned, counts, book)


@intrinsic
def _bits_of(typing, number):
    """Return the bits of a float32 as an int32."""

    def write(context, builder, signature, values):
        return builder.bitcast(values[0], ir.IntType(32))

    return types.int32(types.float32), write


@jit_reassociated
def _nearest_eight(x, transposed, halves):
    """Return the index of the centroid nearest to `x` (8,), or of one hardly farther.

    Half the squared distance is not negative, so that its bits, read as an integer, have the same
    order. Its 8 lowest
    bits are replaced by the number of the centroid, and the least of all found in vector registers;
    of two centroids whose squared distances differ by less than 1/32,768, either may be found. The
    compiler turns all this into one vector loop, which it does not do with an index beside a score.
    """
    numbers = load_eight(x)
    norm = np.float32(0.0)
    for j in range(8):
        norm += x[j] * x[j]
    least = _TOP
    for c in range(halves.shape[0]):
        score = (_HALF * norm + halves[c]) - dot_eight(numbers, transposed, c)
        bits = np.int32(max(_bits_of(score), _ZERO) & _SCORE)  # rounding may give less than zero
        least = np.int32(min(least, np.int32(bits | np.int32(c))))
    return least & _INDEX


@jit
def _reassign(x, old, new, sums, counts):
    """Subtract a point from the sum of its old centroid, if any, and add it to that of the new."""
    if old >= 0:
        counts[old] -= 1
    counts[new] += 1
    for j in range(x.shape[0]):
        if old >= 0:
            sums[old, j] -= x[j]
        sums[new, j] += x[j]


@jit
def _recompute_sums(points, assigned, sums, counts):
    """Compute `sums` and `counts` from the points again: updates accumulate rounding errors."""
    for c in range(counts.shape[0]):
        counts[c] = 0
        for j in range(sums.shape[1]):
            sums[c, j] = 0.0
    for i in range(points.shape[0]):
        _reassign(points[i], _NONE, np.int64(assigned[i]), sums, counts)


@jit
def _move_centroids(sums, counts, book):
    """Move each centroid to the mean of its points; an empty one stays."""
    for c in range(book.shape[0]):
        if counts[c] > 0:
            share = 1.0 / counts[c]
            for j in range(book.shape[1]):
                book[c, j] = sums[c, j] * share


@jit
def _fill_empty(points, assigned, counts, book):
    """Move the centroids without points to points that are drawn by their errors.

    The squared distances of points from their centroids are summed up, and a point is drawn each
    time that the sum has grown by the same amount; the points are in random order. So the chance of
    a point is proportional to its squared distance [k-means++], and a point of large error is
    certain to be drawn, but only once.
    """
    n, d = points.shape
    total = 0.0
    for i in range(n):
        total += _distance(points[i], book[assigned[i]])
    step = total / _count_empty(counts)
    i, reached, wanted = -1, 0.0, 0.5 * step
    for c in range(book.shape[0]):
        if counts[c] > 0:
            continue
        while reached <= wanted and i < n - 1:
            i += 1
            reached += _distance(points[i], book[assigned[i]])  # has points, so it was not moved
        if reached <= wanted:
            return  # the rest is tried again after the next round
        wanted = max(wanted + step, reached)
        for j in range(d):
            book[c, j] = points[i, j]


@jit
def _count_empty(counts):
    """Return the number of centroids without points."""
    n_empty = 0
    for c in range(counts.shape[0]):
        n_empty += counts[c] == 0
    return n_empty


@jit
def _distance(x, z):
    """Return the squared distance, float64."""
    total = 0.0
    for j in range(x.shape[0]):
        total += (np.float64(x[j]) - np.float64(z[j])) ** 2
    return total
