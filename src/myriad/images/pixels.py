"""Convert pixels of any mode and depth to 8-bit grey or RGB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from myriad.arrays import Bytes

_DEEP_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
_STRIP = 1 << 22
"""Pixels that are converted at a time."""
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")


def flatten_image(image: Image.Image, *, colour: bool) -> Bytes:
    """Return the pixels of a loaded Pillow image, of any mode, as grey or RGB.

    Transparent pixels are blended with white. More than 8 bits are scaled, not clipped. A large
    image is converted in strips, since conversions take many times the memory of its pixels.

    Returns
    -------
    uint8 array of shape (height, width), or (height, width, 3) with `colour`.
    """
    width, height = image.size
    strips = _cut_strips(height, width)
    pixels = np.empty((height, width, 3) if colour else (height, width), np.uint8)
    if image.mode in _DEEP_MODES:
        ends = _find_ends(np.asarray(_crop(image, rows)) for rows in strips)
        for rows in strips:
            scaled = _scale(np.asarray(_crop(image, rows)), *ends)
            pixels[rows] = fit_channels(scaled, colour=colour)
        return pixels
    for rows in strips:
        pixels[rows] = np.asarray(_flatten_strip(_crop(image, rows), colour=colour))
    return pixels


def _cut_strips(height: int, width: int) -> list[slice]:
    """Return the rows of strips of at most `_STRIP` pixels, and of at least one row."""
    n_rows = max(1, _STRIP // max(1, width))
    return [slice(top, min(top + n_rows, height)) for top in range(0, height, n_rows)]


def _crop(image: Image.Image, rows: slice) -> Image.Image:
    width, height = image.size
    if rows.stop - rows.start == height:
        return image
    return image.crop((0, rows.start, width, rows.stop))


def _flatten_strip(image: Image.Image, *, colour: bool) -> Bytes:
    """Return the pixels of a strip of 8 bits as grey or RGB."""
    if image.mode in _ALPHA_MODES or "transparency" in image.info:
        image = _blend_with_white(image.convert("RGBA"))
    wanted = "RGB" if colour else "L"
    if image.mode in ("CMYK", "YCbCr", "HSV", "P") and not colour:
        image = image.convert("RGB")  # not every release of Pillow converts these to grey directly
    return np.asarray(image if image.mode == wanted else image.convert(wanted))


def _blend_with_white(image: Image.Image) -> Image.Image:
    white = Image.new("RGB", image.size, (255, 255, 255))
    white.paste(image, mask=image.getchannel("A"))
    return white


def scale_to_bytes(values: NDArray[Any]) -> Bytes:
    """Scale deep pixels down to 8 bits.

    16-bit values are divided by 257. Files with 32-bit integers or floats do not define white: the
    smallest of 1 (floats only), 255 and 65535 that no pixel exceeds is used as white. Values that
    exceed all of these, or are negative, are stretched from their minimum to their maximum.
    """
    if values.dtype.itemsize == 1:
        return values.view(np.uint8)
    strips = _cut_strips(len(values), values[0].size)
    ends = _find_ends(values[rows] for rows in strips)
    scaled = np.empty(values.shape, np.uint8)
    for rows in strips:
        scaled[rows] = _scale(values[rows], *ends)
    return scaled


def _find_ends(parts: Iterable[NDArray[Any]]) -> tuple[float, float]:
    """Return the values that become 0 and 255; `parts` are the rows of an image."""
    least, greatest = np.inf, -np.inf
    whites: tuple[float, ...] = (255.0, 65535.0)
    for values in parts:
        if _has_16_bits(values):
            return 0.0, 65535.0
        if values.dtype.kind == "f":
            whites = (1.0, 255.0, 65535.0)
        finite = _make_finite(values)
        least, greatest = min(least, float(finite.min())), max(greatest, float(finite.max()))
    fitting = [white for white in whites if least >= 0.0 and greatest <= white]
    if fitting:
        return 0.0, fitting[0]
    return least, greatest if greatest > least else least + 1.0


def _scale(values: NDArray[Any], least: float, greatest: float) -> Bytes:
    if _has_16_bits(values):  # the same, but faster
        return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
    scaled = (_make_finite(values).astype(np.float64) - least) * (255.0 / (greatest - least))
    return np.rint(scaled).clip(0, 255).astype(np.uint8)


def _has_16_bits(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "u" and values.dtype.itemsize == 2


def _make_finite(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)


def fit_channels(pixels: Bytes, *, colour: bool) -> Bytes:
    """Return pixels as RGB if `colour` is true, otherwise as grey."""
    if pixels.ndim == 2:
        return np.repeat(pixels[:, :, None], 3, axis=2) if colour else pixels
    return pixels if colour else np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)


def make_upright(pixels: Bytes, orientation: object) -> Bytes:
    """Undo the rotation and reflection of an EXIF orientation (1 to 8)."""
    if orientation not in (2, 3, 4, 5, 6, 7, 8):
        return pixels
    upright = pixels.swapaxes(0, 1) if orientation in (5, 6, 7, 8) else pixels
    if orientation in (3, 4, 7, 8):
        upright = upright[::-1]
    if orientation in (2, 3, 6, 7):
        upright = upright[:, ::-1]
    return np.ascontiguousarray(upright)
