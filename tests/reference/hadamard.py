"""A row rotated by whole Walsh-Hadamard matrices."""

import numpy as np
from scipy.linalg import hadamard


def rotate(row, centre, flips):
    """Return ``row - centre`` after two rotations, of its first and of its last features."""
    x = np.asarray(row, np.float64) - centre
    width = flips.shape[1]
    H = hadamard(width) / np.sqrt(width)
    x[:width] = H @ (flips[0] * x[:width])
    x[len(x) - width :] = H @ (flips[1] * x[len(x) - width :])
    return x
