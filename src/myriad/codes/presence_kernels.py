# mypy: disable-error-code="no-untyped-def"
"""Kernels of presence bits: sums over the cells of rows.

A row is read once, in the order of its features. `cells` (dim,) is the cell of each feature; the
sums of a row lie in one short array, whatever the order of the cells.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit


@jit
def sum_squares(rows, cells, energies):
    """Add the squared values of each cell of each row to `energies` (n_samples, n_cells)."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            energies[i, cells[j]] += np.float64(rows[i, j]) * np.float64(rows[i, j])


@jit
def sum_magnitudes(rows, cells, present, totals):
    """Add the magnitudes of values whose cell is present to `totals` (dim,)."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if present[i, cells[j]]:
                totals[j] += abs(np.float64(rows[i, j]))


@jit
def scale_present(signs, magnitudes, present, positions):
    """Multiply signs (n_samples, n_bits) by magnitudes, and by 0 where their cell is not present.

    Parameters
    ----------
    present : (n_samples, n_cells) of 0 and 1.
    positions : (n_bits,), the column of `present` for each bit.
    """
    for i in range(signs.shape[0]):
        for j in range(signs.shape[1]):
            signs[i, j] *= magnitudes[j] * present[i, positions[j]]
