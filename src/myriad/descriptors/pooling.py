"""Oriented gradients summed over the bins of all patches, and the histograms normalised.

A pixel at `x` belongs to the bin centred at `p` with the triangular weight ``1 - |x - p| / width``
(bilinear interpolation between bins), times a Gaussian of deviation two bins around the centre of
the patch. Both factors separate into x and y, so two small tables (`window_table`), one per axis,
hold the exact weights, and the Gaussian window costs no more than the flat one.

A sum along y is followed by one along x. Both are products with a band matrix whose rows hold
`taps` neighbouring weights.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from myriad._jit import jit, jit_reassociated
from myriad.arrays import Float, Ints
from myriad.descriptors.grid import BINS, patch_centres

WINDOWS = ("gaussian", "flat")
_DEVIATION = 2.0  # of the Gaussian window, in bins: half a patch, as in SIFT
TAPS_UNROLLED = 4


@lru_cache(maxsize=256)
def window_table(length: int, bin_width: float, step: int, window: str) -> tuple[Ints, Float]:
    """Return the first pixel of each bin and the weights of its pixels.

    Parameters
    ----------
    length : pixels along the axis.
    bin_width : the distance of neighbouring bin centres, in pixels, not necessarily whole.
    step : the distance of neighbouring patch centres, in pixels.
    window : ``"gaussian"``, or ``"flat"``, where the Gaussian is replaced by its mean over each
        bin, which is what VLFeat's fast window does.

    Returns
    -------
    starts : int32 array of shape (patches * BINS,), the first pixel of each bin.
    weights : float32 array of shape (patches * BINS, taps); `taps` is a multiple of TAPS_UNROLLED.
        Pixels outside the image have no weight. The weights of a patch inside it sum to 1.
    """
    centres = np.repeat(patch_centres(length, bin_width, step), BINS)
    offsets = np.tile((np.arange(BINS) - (BINS - 1) / 2) * bin_width, len(centres) // BINS)
    taps = int(np.ceil(2 * bin_width / TAPS_UNROLLED)) * TAPS_UNROLLED
    first = np.floor(centres + offsets - bin_width).astype(np.int64) + 1
    starts = np.clip(first, 0, max(0, length - taps))
    pixels = starts[:, None] + np.arange(taps)
    distances = pixels - centres[:, None]
    weights = _weigh(distances, offsets[:, None], bin_width, window)
    around = np.arange(-np.ceil(3 * bin_width), np.ceil(3 * bin_width) + 1)
    total = _weigh(around, offsets[:BINS, None], bin_width, window).sum()
    table = starts.astype(np.int32), (weights / total).astype(np.float32)
    for array in table:
        array.flags.writeable = False
    return table


def _weigh(
    distances: NDArray[np.float64], offsets: NDArray[np.float64], bin_width: float, window: str
) -> NDArray[np.float64]:
    """Weigh pixels at `distances` from a patch centre for bins at `offsets` from it."""
    triangle = np.maximum(0.0, 1.0 - np.abs(distances - offsets) / bin_width)
    if window == "gaussian":
        return triangle * _bell(distances / bin_width)
    inside = np.linspace(-1.0, 1.0, 41)
    return triangle * _bell(offsets[..., None] / bin_width + inside).mean(axis=-1)


def _bell(bins: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-0.5 * (bins / _DEVIATION) ** 2)


_STRIP = 512  # floats of a row summed at a time, so that the rows of a bin stay in the L1 cache
_CLAMP = np.float32(0.2)
_TINY = np.float32(1e-12)  # the squares of smaller numbers vanish in float32 or lose digits


@jit_reassociated
def sum_band(rows: Float, starts: Ints, weights: Float, sums: Float) -> None:
    """Set ``sums[m] = sum_t weights[m, t] * rows[starts[m] + t]``.

    Parameters
    ----------
    rows : float32 array of shape (length, size).
    starts, weights : the table of `window_table`, taps a multiple of 4.
    sums : float32 array of shape (len(starts), size), filled.
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
                # Four rows in one sweep: `out` is loaded and stored a quarter as often.
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
    """Divide a histogram by its largest value, in place; return the new norm, 0 if all is 0."""
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
    sums : float32 array of shape (columns * 4, rows * 4, 8), the bins of all patches.
    values : float32 array of shape (rows * columns, 128), filled; bins in order y, x, orientation.
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
