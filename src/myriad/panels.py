"""Matrix products by tiles: one factor is packed into panels, the other is read in place.

Training multiplies a block of rows with weights that change from block to block. Packing only the
rows, once for their scores and for their Gram matrix, saves what a general routine spends on
packing the weights again for every block, and only half of a Gram matrix is computed.
``benchmarks/tiles.py`` measures what that gains over BLAS.

A panel holds 16 rows (or columns) of a matrix side by side: ``panel[k, lane]`` is number k of row
`lane`, so the 16 numbers that a tile loads at once are contiguous. An array of panels has the shape
(n_panels, m, 16); lanes beyond the last row are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit
from myriad.arrays import Float
from myriad.tiles import (
    LANES,
    ROWS,
    SQUARE,
    WIDE,
    add_packed_tile,
    add_tile,
    add_wide_packed_tile,
    add_wide_tile,
    set_zero,
    transpose_square,
)

DEPTH = 2048
"""Products summed in registers before they are added to `out`; a panel so long fits the cache."""

NEIGHBOURS = 8
"""Panels that are added to `out` at a time: few enough to be in the nearest cache, enough to read
and write long stretches of memory."""

TRANSPOSED_ROWS = 48
"""Rows of a product that are transposed while they are still in the nearest cache."""


class PackedWeights(NamedTuple):
    """A matrix whose rows are packed in place; see `pack_in_place`.

    Attributes
    ----------
    panels : float array of shape (n // 16, m, 16), which shares the memory of the matrix.
    rest : float array of shape (0 or 1, m, 16), a panel of its own for the rows left over.
    """

    panels: Any
    rest: Any


@jit
def count_panels(n):
    """Return how many panels `n` rows or columns make."""
    return (n + LANES - 1) // LANES


@jit
def pack_rows(X):
    """Return panels whose lanes are the rows of `X`, for products ``L X^T``.

    Parameters
    ----------
    X : float array of shape (n, m), C-contiguous.

    Returns
    -------
    Array of shape (ceil(n / 16), m, 16); lanes beyond the last row are zero.
    """
    panels = np.empty((count_panels(len(X)), X.shape[1], LANES), X.dtype)
    fill_rows(X, panels)
    return panels


@jit
def fill_rows(X, panels):
    """Pack rows as `pack_rows` does, into given panels; changed in place."""
    n, m = X.shape
    for p in range(n // LANES):
        transpose(X[p * LANES : (p + 1) * LANES], LANES, m, panels[p])
    if n % LANES > 0:
        last = panels[n // LANES]
        set_zero(last)
        transpose(X[n // LANES * LANES :], n % LANES, m, last)


@jit
def transpose(X, n, m, out):
    """Write the transpose of the first `n` rows and `m` columns of `X` into the start of `out`."""
    # Whole squares of 8 x 8 in vector registers, what is left over number by number.
    for i in range(0, n - SQUARE + 1, SQUARE):
        for j in range(0, m - SQUARE + 1, SQUARE):
            transpose_square(X, i, j, out, j, i)
        for j in range(m - m % SQUARE, m):
            for a in range(SQUARE):
                out[j, i + a] = X[i + a, j]
    for i in range(n - n % SQUARE, n):
        for j in range(m):
            out[j, i] = X[i, j]


@jit
def copy_matrix(X, out):
    """Copy the numbers of `X` into `out`, of the same shape.

    Numba compiles ``out[:, :] = X`` for seconds, most of them for the text of an error.
    """
    for i in range(len(X)):
        for j in range(X.shape[1]):
            out[i, j] = X[i, j]


@jit
def pack_columns(X):
    """Return panels whose lanes are the columns of `X`, for products ``L X``.

    Parameters
    ----------
    X : float array of shape (n, m), C-contiguous.

    Returns
    -------
    Array of shape (ceil(m / 16), n, 16); lanes beyond the last column are zero.
    """
    panels = np.empty((count_panels(X.shape[1]), len(X), LANES), X.dtype)
    fill_columns(X, panels)
    return panels


@inlined
def fill_columns(X, panels):
    """Pack columns as `pack_columns` does, into given panels of as many rows or more."""
    n, m = X.shape
    whole = m // LANES
    for i in range(n):
        for p in range(whole):
            for lane in range(LANES):
                panels[p, i, lane] = X[i, p * LANES + lane]
        if whole < len(panels):
            for lane in range(LANES):
                panels[whole, i, lane] = 0.0
            for j in range(whole * LANES, m):
                panels[whole, i, j - whole * LANES] = X[i, j]


def pack_in_place(X: Float) -> PackedWeights:
    """Replace each 16 rows of `X` by their panel, in the same memory.

    Parameters
    ----------
    X : float array of shape (n, m), C-contiguous; changed in place.

    Returns
    -------
    `PackedWeights`, with the panels of `X` as `pack_rows` makes them.
    """
    whole = len(X) // LANES * LANES
    # A panel (m, 16) has as many numbers as 16 rows (16, m).
    panels = X[:whole].reshape(whole // LANES, X.shape[1], LANES)
    transpose_in_place(X[:whole].reshape(whole // LANES, LANES, X.shape[1]), panels)
    return PackedWeights(panels, pack_rows(X[whole:]))


def unpack_in_place(X: Float, rest: Float) -> None:
    """Undo `pack_in_place`; `X` is the array that it changed, `rest` the panel left over."""
    n, m = X.shape
    whole = n // LANES * LANES
    panels = X[:whole].reshape(whole // LANES, m, LANES)
    transpose_in_place(panels, X[:whole].reshape(whole // LANES, LANES, m))
    if len(rest) > 0:
        transpose(rest[0], m, n - whole, X[whole:])


@jit
def transpose_in_place(matrices, transposed):
    """Transpose each matrix through a copy; both arrays share their memory, which is changed."""
    _, n, m = matrices.shape
    work = np.empty((n, m), matrices.dtype)
    for p in range(len(matrices)):
        copy_matrix(matrices[p], work)
        transpose(work, n, m, transposed[p])


@inlined
def put_tile(L, row, first, depth, P, panel, out, column, edge, fresh):
    """Add one tile to `out`, or set it.

    Parameters
    ----------
    L, row, first, depth, P, panel, fresh : see `tiles.add_tile`.
    out : float array, changed in place from (row, column) on.
    edge : float array of shape (ROWS, 16), work space for tiles that are wider than `out`.
    """
    length = out.strides[0] // out.itemsize
    if column + LANES <= out.shape[1]:
        add_tile(L, row, first, depth, P, panel, out, row * length + column, fresh)
    else:
        # A tile is always 16 wide: at the edge it is computed apart, and copied as far as it fits.
        add_tile(L, row, first, depth, P, panel, edge, 0, True)
        for i in range(min(ROWS, len(L) - row)):
            for j in range(column, out.shape[1]):
                old = edge.dtype.type(0.0) if fresh else out[row + i, j]
                out[row + i, j] = old + edge[i, j - column]


@jit
def put_tiles(L, rows, first, depth, P, panels, out, column, fresh):
    """Add tiles to `out`, or set them: all panels of a range for some rows, then for the next ones.

    Parameters
    ----------
    rows, panels : pairs of the first row or panel and the one after the last. Rows are whole tiles,
        unless they end with those of `L`.
    column : the column of `out` that the lanes of panel 0 begin at.
    L, first, depth, P, out, fresh : see `put_tile`.
    """
    edge = np.empty((ROWS, LANES), out.dtype)
    for row in range(rows[0], rows[1], ROWS):
        panel = panels[0]
        if WIDE and out.itemsize == 4:
            length = out.strides[0] // out.itemsize
            last = min(panels[1], (out.shape[1] - column) // LANES) - 1
            while panel < last:
                offset = row * length + column + panel * LANES
                add_wide_tile(L, row, first, depth, P, panel, out, offset, fresh)
                panel += 2
        for p in range(panel, panels[1]):
            put_tile(L, row, first, depth, P, p, out, column + p * LANES, edge, fresh)


@jit
def multiply(L, P, out, column):
    """Set the columns of `out`, from `column` on, to ``L P``.

    Parameters
    ----------
    L : float array of shape (n, m), C-contiguous.
    P : panels of shape (n_panels, m, 16).
    out : float array of shape (n, up to column + 16 n_panels) with contiguous rows; changed in
        place.
    """
    # The rows of a tile stay in the nearest cache while all panels pass.
    for first in range(0, L.shape[1], DEPTH):
        depth = min(DEPTH, L.shape[1] - first)
        put_tiles(L, (0, len(L)), first, depth, P, (0, len(P)), out, column, first == 0)


@jit
def add_columns(L, P, out):
    """Add ``L X`` to `out`, a few panels of the columns of X at a time.

    Parameters
    ----------
    L : float array of shape (n, m), C-contiguous.
    P : panels of shape (n_panels, at least m, 16).
    out : float array of shape (n, up to 16 n_panels), C-contiguous; changed in place.
    """
    for first in range(0, len(P), NEIGHBOURS):
        panels = first, min(first + NEIGHBOURS, len(P))
        put_tiles(L, (0, len(L)), 0, L.shape[1], P, panels, out, 0, False)


@jit
def add_rows(P, A, out):
    """Add ``X^T A`` to `out`: the rows of X are packed, and the columns of `A` and `out` as well.

    Parameters
    ----------
    P : panels of X, of shape (n_panels, m, 16).
    A : float array of shape (k, at least 16 n_panels, 16); coefficients of rows beyond the last one
        must be finite (they meet the zeros of the panels).
    out : float array of shape (k, m, 16), C-contiguous; changed in place.
    """
    for first in range(0, len(out), NEIGHBOURS):
        last = min(first + NEIGHBOURS, len(out))
        for column in range(0, P.shape[1], ROWS):
            panel = first
            if WIDE and out.itemsize == 4:
                while panel < last - 1:
                    add_wide_packed_tile(P, column, A, panel, out)
                    panel += 2
            for p in range(panel, last):
                add_packed_tile(P, column, A, p, out)


@jit
def multiply_transposed(L, P, out, start):
    """Set columns of `out`, from `start` on, to the rows of ``L P``.

    Parameters
    ----------
    L : float array of shape (n, m), C-contiguous.
    P : panels of shape (n_panels, m, 16).
    out : float array of shape (up to 16 n_panels, at least start + n), C-contiguous; changed in
        place.
    """
    # With more than one step of DEPTH all rows are made at once: each step reads all panels.
    size = TRANSPOSED_ROWS if L.shape[1] <= DEPTH else len(L)
    product = np.empty((size, len(P) * LANES), out.dtype)
    for first in range(0, len(L), size):
        n = min(size, len(L) - first)
        multiply(L[first : first + n], P, product[:n], 0)
        transpose(product, n, len(out), out[:, start + first :])


@jit
def multiply_with_itself(X, P, gram):
    """Set the first columns of `gram` to ``X X^T``, from rows and their own panels.

    The lower half is computed and mirrored; columns beyond, up to whole panels, may be set to zero.
    """
    n, m = X.shape
    for first in range(0, m, DEPTH):
        depth = min(DEPTH, m - first)
        for row in range(0, n, ROWS):
            # Only panels with a column up to the diagonal of these rows.
            panels = 0, min(len(P), (row + ROWS - 1) // LANES + 1)
            put_tiles(X, (row, row + ROWS), first, depth, P, panels, gram, 0, first == 0)
    for i in range(n):
        for j in range(i):
            gram[j, i] = gram[i, j]


@jit
def multiply_blocks(X, block):
    """Return the panels of each block of rows, one after the other, and the Gram matrices.

    Returns
    -------
    panels : array of shape (n_blocks * ceil(block / 16), m, 16).
    grams : array of shape (n, block), products of each row with the rows of its block; columns
        beyond the last row of a block are zero.
    """
    n, m = X.shape
    n_blocks, size = (n + block - 1) // block, count_panels(block)
    panels = np.empty((n_blocks * size, m, LANES), X.dtype)
    grams = np.zeros((n, block), X.dtype)
    for number in range(n_blocks):
        part = X[number * block : (number + 1) * block]
        own = panels[number * size : number * size + count_panels(len(part))]
        fill_rows(part, own)
        multiply_with_itself(part, own, grams[number * block : (number + 1) * block])
    return panels, grams
