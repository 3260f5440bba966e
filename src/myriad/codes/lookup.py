# mypy: disable-error-code="no-untyped-def"
"""Kernels that decode a product code: copy the centroid that each index names."""

from __future__ import annotations

import numpy as np

from myriad._jit import jit

_TILE = np.uint64(32)  # books used together: about as many as a core's own cache holds
_ZERO, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)


@jit
def look_up_eights(indices, books, out):
    """Copy centroids of 8 float32, as four words of 8 bytes, into `out` (n_samples, n_sub, 4).

    `indices` is uint8 (n_samples, n_sub), `books` uint64 (n_books, n, 4); sub-vector m uses book
    ``m % n_books``. Books are the outer loop, so that each is read from memory once, and counters
    are unsigned, which spares the checks for negative indices: half of the time.
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
