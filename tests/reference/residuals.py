"""Residual sums row by row in float64."""

import numpy as np


def sum_residuals(rows, words, cells, centres, n_cells):
    sums = np.zeros((n_cells, *centres.shape))
    for row, word, cell in zip(rows, words, cells, strict=True):
        sums[cell, word] += row.astype(np.float64) - centres[word]
    return sums
