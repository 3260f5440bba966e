"""Sums over a band, as a product with the whole matrix in float64."""

import numpy as np


def sum_band(rows, starts, weights):
    matrix = np.zeros((len(starts), len(rows)))
    for m, start in enumerate(starts):
        matrix[m, start : start + weights.shape[1]] = weights[m]
    return matrix @ rows.astype(np.float64)
