"""The weight of each pixel in each bin of each patch, along one axis.

A pixel at `x` belongs to the bin centred at `p` with the triangular weight ``1 - |x - p| / width``
(bilinear interpolation between bins), times a Gaussian of deviation two bins around the centre of
the patch. Both factors separate into x and y, so two small tables hold the exact weights, and the
Gaussian window costs no more than the flat one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.descriptors.geometry import BINS, patch_centres

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
