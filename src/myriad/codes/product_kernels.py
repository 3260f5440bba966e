# mypy: disable-error-code="no-untyped-def"
"""Kernels of product codes: the nearest centroid of a sub-vector, and the centroid of an index.

A book of n centroids is kept transposed, (d, n), so that the n scores ``|c|^2 / 2 - x.c`` are
computed side by side in vector registers; the least of them belongs to the nearest centroid.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit, jit_reassociated

_TOP = np.int32(0x7FFFFFFF)
_SIGN = np.int32(31)
_TILE = np.uint64(32)  # books decoded together: about as many as fit into the cache of a core
_ZERO, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_FOUR = np.uint64(4)


@jit_reassociated
def transpose(book, transposed, halves):
    """Fill `transposed` (d, n) from a book (n, d), and `halves` (n,) with ``|c|^2 / 2``."""
    for c in range(book.shape[0]):
        half = 0.0
        for j in range(book.shape[1]):
            transposed[j, c] = book[c, j]
            half += 0.5 * np.float64(book[c, j]) * np.float64(book[c, j])
        halves[c] = half


@inlined
def load_eight(x):
    """Return the 8 numbers of a vector as a tuple, which stays in registers.

    An array would be loaded again after each write to another array that might overlap it.
    """
    return x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]


@inlined
def dot_eight(x, transposed, c):
    """Return the product of 8 numbers, a tuple, with centroid c of a transposed book (8, n)."""
    low = x[0] * transposed[0, c] + x[1] * transposed[1, c]
    low += x[2] * transposed[2, c] + x[3] * transposed[3, c]
    high = x[4] * transposed[4, c] + x[5] * transposed[5, c]
    high += x[6] * transposed[6, c] + x[7] * transposed[7, c]
    return low + high


@jit_reassociated
def _score_eight(x, transposed, halves, scores):
    """Fill the scores of one vector of 8 numbers, the common case: it stays in registers."""
    numbers = load_eight(x)
    for c in range(halves.shape[0]):
        scores[c] = halves[c] - dot_eight(numbers, transposed, c)


@jit_reassociated
def _score(x, transposed, halves, scores):
    """Fill the scores of one vector of any length."""
    for c in range(halves.shape[0]):
        scores[c] = halves[c]
    for j in range(x.shape[0]):
        xj = x[j]
        for c in range(halves.shape[0]):
            scores[c] -= xj * transposed[j, c]


@jit
def _ordered(bits):
    """Return an integer that is ordered as the float32 with these bits is."""
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _TOP))


@jit
def _lowest(scores):
    """Return the first index of the least score.

    The scores are compared as integers: the compiler vectorises a minimum of integers but not one
    of floats, because of NaN. `_ordered` is its own inverse.
    """
    bits = scores.view(np.int32)
    least = _TOP
    for c in range(bits.shape[0]):
        least = np.int32(min(least, _ordered(bits[c])))
    least = _ordered(least)
    where = _TOP
    for c in range(bits.shape[0]):
        here = np.int32(c) if bits[c] == least else _TOP
        where = np.int32(min(where, here))
    return where


@jit
def nearest(x, transposed, halves, scores):
    """Return the index of the centroid nearest to `x` (d,); the lowest of equals.

    `scores` (n,) float32 is overwritten: it is working space.
    """
    if x.shape[0] == 8:
        _score_eight(x, transposed, halves, scores)
    else:
        _score(x, transposed, halves, scores)
    return _lowest(scores)


@jit
def assign_subvectors(rows, transposed, halves, indices, n_full):
    """Fill `indices` (n_samples, n_sub) uint8 with the nearest centroids of sub-vectors.

    `transposed` is (n_books, d, n); sub-vector m uses book ``m % n_books``. The first `n_full`
    sub-vectors are assigned, those that `rows` (n_samples, dim) holds whole. Books are the outer
    loop, so that each is read from memory once and stays in the cache for all rows.
    """
    n_books, d, n = transposed.shape
    scores = np.empty(n, np.float32)
    for first in range(min(n_books, n_full)):
        book, half = transposed[first], halves[first]
        for m in range(first, n_full, n_books):
            for i in range(rows.shape[0]):
                indices[i, m] = nearest(rows[i, m * d : m * d + d], book, half, scores)


@jit
def look_up_eights(indices, books, out):
    """Copy centroids of 8 float32, as four words of 8 bytes, into `out` (n_samples, n_sub, 4).

    `indices` is uint8 (n_samples, n_sub), `books` uint64 (n_books, n, 4); sub-vector m uses book
    ``m % n_books``. Books are the outer loop, so that each is read from memory once, and counters
    are unsigned, so that no check for negative indices is compiled: half of the time.
    """
    n_samples, n_sub = np.uint64(indices.shape[0]), np.uint64(indices.shape[1])
    n_books = np.uint64(books.shape[0])
    for first in range(_ZERO, n_books, _TILE):
        for base in range(_ZERO, n_sub, n_books):
            last = min(first + _TILE, n_books, n_sub - base)
            for i in range(n_samples):
                for book in range(first, last):
                    c = indices[i, base + book]
                    w0, w1 = books[book, c, _ZERO], books[book, c, _ONE]
                    w2, w3 = books[book, c, _TWO], books[book, c, _THREE]
                    out[i, base + book, _ZERO] = w0
                    out[i, base + book, _ONE] = w1
                    out[i, base + book, _TWO] = w2
                    out[i, base + book, _THREE] = w3


@jit
def look_up_four_regions(indices, books, out):
    """Copy centroids whose 8 float32 are two features of each of four regions.

    `indices` is uint8 (n_samples, 4, n_books), `books` uint64 (n_books, n, 4), `out` uint64
    (n_samples, 4, n_books, 4): word q of the centroid with index p of a book becomes word p of
    region q. Loops as in `look_up_eights`.
    """
    n_samples, n_books = np.uint64(indices.shape[0]), np.uint64(indices.shape[2])
    for first in range(_ZERO, n_books, _TILE):
        last = min(first + _TILE, n_books)
        for i in range(n_samples):
            for region in range(_ZERO, _FOUR):
                for book in range(first, last):
                    c0, c1 = indices[i, _ZERO, book], indices[i, _ONE, book]
                    c2, c3 = indices[i, _TWO, book], indices[i, _THREE, book]
                    w0, w1 = books[book, c0, region], books[book, c1, region]
                    w2, w3 = books[book, c2, region], books[book, c3, region]
                    out[i, region, book, _ZERO] = w0
                    out[i, region, book, _ONE] = w1
                    out[i, region, book, _TWO] = w2
                    out[i, region, book, _THREE] = w3


@jit
def look_up(indices, books, out, n_full):
    """Copy the centroids (any d) of the first `n_full` sub-vectors into `out` (n_samples, dim)."""
    n_books, _, d = books.shape
    for i in range(indices.shape[0]):
        book = 0
        for m in range(n_full):
            centroid = books[book, indices[i, m]]
            for j in range(d):
                out[i, m * d + j] = centroid[j]
            book += 1
            if book == n_books:
                book = 0
