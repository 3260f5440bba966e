"""Whether two images show the same picture: their grey thumbnails, aligned and compared.

A copy of an image may have another size, compression or brightness, be cropped a little, or
mirrored. Two thumbnails are aligned by an affine map close to the identity, found by maximising
their correlation [1]_, and must then agree both as they are and in their details, which are what
is left after smoothing: two beaches have the same sky above the same sand, but not the same waves.

.. [1] G. Evangelidis, E. Psarakis. Parametric image alignment using enhanced correlation
   coefficient maximization. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2008.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float

THUMBNAIL_SIDE = 32
COARSE_SIDE = 12
COARSE_CORRELATION = 0.6
"""The least correlation of coarse thumbnails, before they are aligned, that is worth the work."""
CORRELATION, DETAIL = 0.93, 0.5
"""The least correlation of aligned thumbnails, and of their details, of the same picture."""
MOST_CHANGE = 0.2
"""Most that the map may stretch or shift, as a fraction of the side."""
LEAST_OVERLAP = 0.6
DETAIL_SIGMA = 2.0
STEPS, TOLERANCE, SMOOTHING = 25, 1e-4, 3
FLAT = 2.0
"""Standard deviation of grey values below which there is nothing to compare."""


class Match(NamedTuple):
    """How two thumbnails agree after alignment.

    Attributes
    ----------
    detail : the correlation of their details.
    mirrored : whether one had to be mirrored.
    """

    detail: float
    mirrored: bool


def make_grey_thumbnail(image: Bytes) -> Bytes:
    """Return a uint8 image, grey or RGB, as grey square of `THUMBNAIL_SIDE`, proportions lost."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image
    size = (THUMBNAIL_SIDE, THUMBNAIL_SIDE)
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), np.uint8)


def coarsen(thumbnails: NDArray[np.uint8]) -> Float:
    """Return thumbnails (n, side, side) as coarse vectors of mean 0 and norm 1, float32 (n, m)."""
    size = (COARSE_SIDE, COARSE_SIDE)
    coarse = np.empty((len(thumbnails), COARSE_SIDE**2), np.float32)
    for one, thumbnail in zip(coarse, thumbnails, strict=True):
        small = cv2.resize(thumbnail.astype(np.float32), size, interpolation=cv2.INTER_AREA)
        one[:] = small.reshape(-1) - small.mean()
    return coarse / np.maximum(np.linalg.norm(coarse, axis=1, keepdims=True), 1e-6)


def correlate_coarsely(
    coarse: Float, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the correlation of pairs of coarse vectors, or with the second mirrored if higher."""
    mirrored = coarse.reshape(-1, COARSE_SIDE, COARSE_SIDE)[:, :, ::-1].reshape(len(coarse), -1)
    straight = np.einsum("ij,ij->i", coarse[first], coarse[second])
    turned = np.einsum("ij,ij->i", coarse[first], mirrored[second])
    return np.maximum(straight, turned)


def match_thumbnails(first: Bytes, second: Bytes) -> Match | None:
    """Return how two thumbnails agree; None if they do not show the same picture."""
    a, b = first.astype(np.float32), second.astype(np.float32)
    if min(a.std(), b.std()) < FLAT:
        return None
    turned = np.ascontiguousarray(b[:, ::-1])
    mirrored = correlate(a, turned) > correlate(a, b)
    found = _align(a, turned if mirrored else b)
    if found is None:
        return None
    aligned, inside = found
    if correlate(a[inside], aligned[inside]) < CORRELATION:
        return None
    detail = correlate(_take_details(a)[inside], _take_details(aligned)[inside])
    return Match(detail, bool(mirrored)) if detail >= DETAIL else None


def correlate(a: Float, b: Float) -> float:
    """Return Pearson's correlation of two arrays; 0 if one is constant."""
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0


def _align(a: Float, b: Float) -> tuple[Float, NDArray[np.bool_]] | None:
    """Return `b` mapped onto `a`, and the pixels where it has a value; None if they do not fit."""
    side = a.shape[0]
    change = np.eye(2, 3, dtype=np.float32)
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, STEPS, TOLERANCE)
    nothing: cv2.typing.MatLike = None  # type: ignore[assignment]
    try:
        _, found = cv2.findTransformECC(
            a, b, change, cv2.MOTION_AFFINE, criteria, nothing, SMOOTHING
        )
    except cv2.error:  # the correlation cannot be raised
        return None
    distance = np.abs(found - np.eye(2, 3, dtype=np.float32))
    distance[:, 2] /= side
    if not distance.max() <= MOST_CHANGE:  # NaN, too
        return None
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    aligned = cv2.warpAffine(b, found, (side, side), flags=flags)
    inside = cv2.warpAffine(np.ones_like(b), found, (side, side), flags=flags) > 0.99
    if inside.mean() < LEAST_OVERLAP:
        return None
    return np.asarray(aligned, np.float32), inside


def _take_details(image: Float) -> Float:
    smooth = cv2.GaussianBlur(image, (0, 0), DETAIL_SIGMA)
    return np.asarray(image - smooth, np.float32)
