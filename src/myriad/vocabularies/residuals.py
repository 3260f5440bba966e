"""Sums of the residuals of descriptors to their visual words: the kernel of VLAD and k-means."""

from __future__ import annotations

from myriad._jit import jit
from myriad.arrays import Float, Ints


@jit
def add_residuals(rows: Float, words: Ints, cells: Ints, centres: Float, sums: Float) -> None:
    """Add each row's difference from its word, cell by cell and word by word.

    Parameters
    ----------
    rows : float32 array of shape (n, dim).
    words, cells : int32 arrays of shape (n,), the word and the cell of each row.
    centres : float32 array of shape (n_words, dim).
    sums : float32 array of shape (n_cells, n_words, dim), added to.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        centre = centres[words[i]]
        total = sums[cells[i], words[i]]
        for d in range(row.size):
            total[d] += row[d] - centre[d]
