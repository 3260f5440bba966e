"""Oriented gradients summed over the bins of all patches, and the histograms normalised.

Pixels are weighted by two tables (`windows`), one a side: a sum along y, then one along x. Both are
products with a band matrix whose rows hold `taps` neighbouring weights.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit, jit_reassociated
from myriad.arrays import Float, Ints

_STRIP = 512  # floats of a row worked on at a time, so that the rows of a bin stay in the L1 cache
_CLAMP = np.float32(0.2)
_TINY = np.float32(1e-12)  # the squares of smaller numbers vanish in float32 or lose digits


@jit_reassociated
def sum_band(rows: Float, starts: Ints, weights: Float, sums: Float) -> None:
    """Set ``sums[m] = sum_t weights[m, t] * rows[starts[m] + t]``.

    Parameters
    ----------
    rows : float32 array of shape (length, size), read.
    starts, weights : the table of `windows.window_table`, taps a multiple of 4, read.
    sums : float32 array of shape (len(starts), size), set.
    """
    size = rows.shape[1]
    taps = weights.shape[1]
    for left in range(0, size, _STRIP):
        right = min(left + _STRIP, size)
        for m in range(starts.size):
            start = starts[m]
            out = sums[m, left:right]
            out[:] = np.float32(0.0)
            for t in range(0, taps, 4):
                w0, w1, w2, w3 = (
                    weights[m, t],
                    weights[m, t + 1],
                    weights[m, t + 2],
                    weights[m, t + 3],
                )
                r0 = rows[start + t, left:right]
                r1 = rows[start + t + 1, left:right]
                r2 = rows[start + t + 2, left:right]
                r3 = rows[start + t + 3, left:right]
                for j in range(out.size):
                    out[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]


@jit
def swap_axes(blocks: Float, swapped: Float) -> None:
    """Set ``swapped[j, i, :] = blocks[i, j, :]``; the last axis has 8 elements."""
    for i in range(blocks.shape[0]):
        for j in range(blocks.shape[1]):
            for o in range(8):
                swapped[j, i, o] = blocks[i, j, o]


@jit_reassociated
def _scale_up(histogram: Float) -> np.float32:
    """Divide a histogram by its largest value and return its norm, 0 if all of it is 0."""
    largest = np.float32(0.0)
    for j in range(histogram.size):
        largest = max(largest, histogram[j])
    norm = np.float32(0.0)
    if largest > 0:
        for j in range(histogram.size):
            histogram[j] /= largest
            norm += histogram[j] * histogram[j]
    return np.sqrt(norm)


@jit_reassociated
def normalise_histograms(sums: Float, values: Float, contrast: np.float32) -> None:
    """Gather each patch's 4 x 4 x 8 histogram and normalise it: L2, clamp at 0.2, L2.

    Parameters
    ----------
    sums : float32 array of shape (columns * 4, rows * 4, 8), the bins of all patches, read.
    values : float32 array of shape (rows * columns, 128), set; bins in the order y, x, orientation.
    contrast : histograms of a smaller norm become zero; a contrast below 1e-12 counts as 0.
    """
    columns = sums.shape[0] // 4
    for p in range(values.shape[0]):
        iy = p // columns * 4
        ix = p % columns * 4
        histogram = values[p]
        for by in range(4):
            for bx in range(4):
                for o in range(8):
                    histogram[by * 32 + bx * 8 + o] = sums[ix + bx, iy + by, o]
        norm = np.float32(0.0)
        for j in range(128):
            norm += histogram[j] * histogram[j]
        norm = np.sqrt(norm)
        least = contrast
        if max(norm, contrast) < _TINY:
            norm = _scale_up(histogram)
            least = np.float32(0.0)
        if norm <= least:
            histogram[:] = np.float32(0.0)
            continue
        limit = _CLAMP * norm
        norm = np.float32(0.0)
        for j in range(128):
            histogram[j] = min(histogram[j], limit)
            norm += histogram[j] * histogram[j]
        scale = np.float32(1.0) / np.sqrt(norm)
        for j in range(128):
            histogram[j] *= scale


@jit_reassociated
def take_roots(values: Float) -> None:
    """Replace each row by the square roots of its L1-normalised values; zero rows stay zero."""
    for p in range(values.shape[0]):
        histogram = values[p]
        total = np.float32(0.0)
        for j in range(histogram.size):
            total += histogram[j]
        scale = np.float32(1.0) / total if total > 0 else np.float32(0.0)
        for j in range(histogram.size):
            histogram[j] = np.sqrt(histogram[j] * scale)
