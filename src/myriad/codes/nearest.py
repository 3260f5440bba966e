# mypy: disable-error-code="no-untyped-def"
"""The nearest centroid of a small vector: the kernel under encoding and learning codebooks.

A book of n centroids is kept turned, (d, n), so that the n scores ``|c|^2 / 2 - x.c`` are computed
side by side in vector registers; the least of them belongs to the nearest centroid.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit, jit_reassociated

_TOP = np.int32(0x7FFFFFFF)
_SIGN = np.int32(31)


@jit_reassociated
def turn(book, turned, halves):
    """Turn a book (n, d) into `turned` (d, n) and fill `halves` (n,) with ``|c|^2 / 2``."""
    for c in range(book.shape[0]):
        half = 0.0
        for j in range(book.shape[1]):
            turned[j, c] = book[c, j]
            half += 0.5 * np.float64(book[c, j]) * np.float64(book[c, j])
        halves[c] = half


@jit_reassociated
def _score_eight(x, turned, halves, scores):
    """Fill the scores of one vector of 8 numbers: the common case, kept in registers."""
    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    b0, b1, b2, b3 = turned[0], turned[1], turned[2], turned[3]
    b4, b5, b6, b7 = turned[4], turned[5], turned[6], turned[7]
    for c in range(halves.shape[0]):
        low = x0 * b0[c] + x1 * b1[c] + x2 * b2[c] + x3 * b3[c]
        high = x4 * b4[c] + x5 * b5[c] + x6 * b6[c] + x7 * b7[c]
        scores[c] = halves[c] - (low + high)


@jit_reassociated
def _score(x, turned, halves, scores):
    """Fill the scores of one vector of any length."""
    for c in range(halves.shape[0]):
        scores[c] = halves[c]
    for j in range(x.shape[0]):
        xj = x[j]
        for c in range(halves.shape[0]):
            scores[c] -= xj * turned[j, c]


@jit
def _ordered(bits):
    """Return an integer that is ordered as the float32 with these bits is."""
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _TOP))


@jit
def _lowest(scores):
    """Return the first index of the least score.

    The scores are compared as integers: a minimum of integers runs in vector registers, one of
    floats does not, because of NaN. `_ordered` is its own inverse.
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
def nearest(x, turned, halves, scores):
    """Return the index of the centroid nearest to `x` (d,); the lowest of equals.

    `scores` (n,) float32 is changed: it is the kernel's working space.
    """
    if x.shape[0] == 8:
        _score_eight(x, turned, halves, scores)
    else:
        _score(x, turned, halves, scores)
    return _lowest(scores)


@jit
def assign_subvectors(rows, turned, halves, indices, n_full):
    """Fill `indices` (n_samples, n_sub) uint8 with the nearest centroids of sub-vectors.

    `turned` is (n_books, d, n); sub-vector m uses book ``m % n_books``. The first `n_full`
    sub-vectors are assigned, those that `rows` (n_samples, dim) holds whole. Books are the outer
    loop, so that each is read from memory once.
    """
    n_books, d, n = turned.shape
    scores = np.empty(n, np.float32)
    for first in range(min(n_books, n_full)):
        book, half = turned[first], halves[first]
        for m in range(first, n_full, n_books):
            for i in range(rows.shape[0]):
                indices[i, m] = nearest(rows[i, m * d : m * d + d], book, half, scores)
