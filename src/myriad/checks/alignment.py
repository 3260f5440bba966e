"""Whether two images show the same picture: their grey thumbnails, aligned and compared.

A copy of an image may have another size, compression or brightness, be cropped a little, or
mirrored. Two thumbnails are aligned by an affine map close to the identity, found by maximising
their correlation [1]_, and must then agree both as they are and in their details, which are what
smoothing removes: two beaches have the same sky above the same sand, but not the same waves.
This is done at half the size first, which is fast and rejects nearly all pairs, and then at the
full size, where two drawings of one symbol, or two objects in the same pose, differ as well.

Two changes remove information, and are made to the other thumbnail before: an image of fewer pixels
than its thumbnail lacks details, and a brighter one is overexposed where the other is not.

.. [1] G. Evangelidis, E. Psarakis. Parametric image alignment using enhanced correlation
   coefficient maximization. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2008.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float

THUMBNAIL_SIDE = 64
COARSE_SIDE = 12
COARSE_CORRELATION, UNALIGNED_CORRELATION = 0.6, 0.3
"""Minimum correlations of coarse thumbnails, and of those of half the size, before alignment is
tried."""
CORRELATION, HALF_DETAIL, DETAIL = 0.93, 0.5, 0.87
"""Minimum correlations of the same picture: of aligned thumbnails of half the size, of the
details of these, and of the details of whole thumbnails."""
MAX_CHANGE = 0.2
"""Maximum stretch and shift of the map, as a fraction of the side."""
MIN_OVERLAP = 0.6
HALF_BAND, BAND = (0.0, 2.0), (0.7, 2.0)
"""Details are the difference of two smoothings, by these standard deviations in pixels."""
STEPS = 25
HALF_TOLERANCE, TOLERANCE = 1e-4, 1e-5
HALF_SMOOTHING, SMOOTHING = 3, 5
"""Sides of the Gaussian filter with which gradients are estimated."""
DARK, OVEREXPOSED = 8, 245
"""Grey values at or below, and at or above which the brightness of a pixel is not known."""
MIN_OVEREXPOSED, MIN_EXPOSED = 0.005, 0.02
"""Fractions of pixels that must be overexposed before exposures are compared, and of those from
which the gain is estimated."""
MIN_GAIN, MAX_GAIN = 1.05, 2.0
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
    shrinks = min(grey.shape) >= THUMBNAIL_SIDE
    method = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC  # area enlarges to blocks
    return np.asarray(cv2.resize(grey, size, interpolation=method), np.uint8)


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
    flipped = np.einsum("ij,ij->i", coarse[first], mirrored[second])
    return np.maximum(straight, flipped)


def match_thumbnails(
    first: Bytes, second: Bytes, sizes: NDArray[np.int64] | None = None
) -> Match | None:
    """Return how two thumbnails agree; None if they do not show the same picture.

    Parameters
    ----------
    sizes : the width and height of the two images, (2, 2); None if they are not known.
    """
    if sizes is not None:
        least = np.minimum(sizes.min(axis=0), THUMBNAIL_SIDE)
        first, second = (
            _reduce(one, least) if (np.minimum(size, THUMBNAIL_SIDE) > least).any() else one
            for one, size in zip((first, second), sizes, strict=True)
        )
    a, b = first.astype(np.float32), second.astype(np.float32)
    if min(a.std(), b.std()) < FLAT:
        return None
    found = _match(a, b)
    if found is None and (exposed := _expose_alike(a, b)) is not None:
        found = _match(*exposed)
    return found


def _reduce(thumbnail: Bytes, size: NDArray[np.int64]) -> Bytes:
    """Return a thumbnail with the details that an image of `size` (width, height) would have."""
    width, height = size.tolist()
    small = cv2.resize(thumbnail, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, thumbnail.shape[::-1], interpolation=cv2.INTER_CUBIC))


def _expose_alike(a: Float, b: Float) -> tuple[Float, Float] | None:
    """Return two thumbnails, the darker one made as bright and as overexposed as the other one.

    None if none is overexposed, or if they are about as bright.
    """
    brighter = np.maximum(a, b)
    known = (np.minimum(a, b) > DARK) & (brighter < OVEREXPOSED)
    if (brighter >= OVEREXPOSED).mean() < MIN_OVEREXPOSED or known.mean() < MIN_EXPOSED:
        return None
    gain = float(np.median(b[known] / a[known]))
    if MIN_GAIN <= gain <= MAX_GAIN:
        return np.minimum(gain * a, 255.0), b
    if MIN_GAIN <= 1.0 / gain <= MAX_GAIN:
        return a, np.minimum(b / gain, 255.0)
    return None


def _match(a: Float, b: Float) -> Match | None:
    """Return how two thumbnails of equal resolution and exposure agree; None if they do not."""
    half = _halve(a)
    best: tuple[float, bool, Float] | None = None
    for mirrored in (False, True):  # of a symmetric picture, both may fit as a whole
        found = _fit_half(half, _halve(_mirror(b) if mirrored else b))
        if found is not None and (best is None or found[0] > best[0]):
            best = (found[0], mirrored, found[1])
    if best is None:
        return None
    _, mirrored, change = best
    b = _mirror(b) if mirrored else b
    start = change * np.array([1, 1, 2], np.float32)  # shifts are twice as many pixels
    fits = (_apply(b, start), _align(a, b, start, TOLERANCE, SMOOTHING))
    detail = max(_compare_details(a, one, BAND) for one in fits if one is not None)
    return Match(detail, mirrored) if detail >= DETAIL else None


def _fit_half(a: Float, b: Float) -> tuple[float, Float] | None:
    """Return the likeness of details and the map of thumbnails of half the size, if they agree."""
    if correlate(a, b) < UNALIGNED_CORRELATION:
        return None
    identity = np.eye(2, 3, dtype=np.float32)
    # Where much is overexposed, the correlation may lead away from a map that fits.
    fits = (_apply(b, identity), _align(a, b, identity, HALF_TOLERANCE, HALF_SMOOTHING))
    found = [
        (_compare_details(a, one, HALF_BAND), one.change)
        for one in fits
        if one is not None and correlate(a[one.inside], one.image[one.inside]) >= CORRELATION
    ]
    best = max(found, key=lambda one: one[0], default=None)
    return best if best is not None and best[0] >= HALF_DETAIL else None


def _mirror(image: Float) -> Float:
    return np.ascontiguousarray(image[:, ::-1])


def correlate(a: Float, b: Float) -> float:
    """Return Pearson's correlation of two arrays; 0 if one is constant."""
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0


class _Aligned(NamedTuple):
    """An image mapped onto another one, the pixels where it has a value, and the map."""

    image: Float
    inside: NDArray[np.bool_]
    change: Float


def _align(a: Float, b: Float, start: Float, tolerance: float, smoothing: int) -> _Aligned | None:
    """Return `b` mapped onto `a`, by a map near to `start`; None if they do not fit."""
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, STEPS, tolerance)
    nothing: cv2.typing.MatLike = None  # type: ignore[assignment]
    try:
        _, change = cv2.findTransformECC(
            a, b, start.copy(), cv2.MOTION_AFFINE, criteria, nothing, smoothing
        )
    except cv2.error:  # the correlation cannot be raised
        return None
    distance = np.abs(change - np.eye(2, 3, dtype=np.float32))
    distance[:, 2] /= a.shape[0]
    if not distance.max() <= MAX_CHANGE:  # NaN, too
        return None
    found = _apply(b, np.asarray(change, np.float32))
    return found if found.inside.mean() >= MIN_OVERLAP else None


def _apply(b: Float, change: Float) -> _Aligned:
    """Return an image mapped by `change`."""
    side = b.shape[0]
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    # What is beyond the border repeats it: zeros would reach the details inside.
    border = cv2.BORDER_REPLICATE
    image = cv2.warpAffine(b, change, (side, side), flags=flags, borderMode=border)
    inside = cv2.warpAffine(np.ones_like(b), change, (side, side), flags=flags) > 0.99
    return _Aligned(np.asarray(image, np.float32), inside, change)


def _halve(image: Float) -> Float:
    """Return the means of 2 x 2 pixels."""
    side = image.shape[0] // 2
    return image.reshape(side, 2, side, 2).mean(axis=(1, 3))


def _compare_details(a: Float, b: _Aligned, band: tuple[float, float]) -> float:
    """Return the correlation of the details of two aligned images."""
    return correlate(
        _extract_details(a, *band)[b.inside], _extract_details(b.image, *band)[b.inside]
    )


def _extract_details(image: Float, fine: float, coarse: float) -> Float:
    smooth = cv2.GaussianBlur(image, (0, 0), fine) if fine else image
    return np.asarray(smooth - cv2.GaussianBlur(image, (0, 0), coarse), np.float32)
