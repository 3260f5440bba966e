"""Convert pixels of any mode and depth to 8-bit grey or RGB."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from myriad.arrays import Bytes

_DEEP_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")


def flatten_image(image: Image.Image, *, colour: bool) -> Bytes:
    """Return the pixels of a loaded Pillow image, of any mode, as grey or RGB.

    Transparent pixels are blended with white. More than 8 bits are scaled, not clipped.

    Returns
    -------
    uint8 array of shape (height, width), or (height, width, 3) with `colour`.
    """
    if image.mode in _DEEP_MODES:
        return fit_channels(scale_to_bytes(np.asarray(image), of=image.mode), colour=colour)
    if image.mode in _ALPHA_MODES or "transparency" in image.info:
        image = _blend_with_white(image.convert("RGBA"))
    wanted = "RGB" if colour else "L"
    if image.mode in ("CMYK", "YCbCr", "HSV", "P") and not colour:
        image = image.convert("RGB")  # not every release of Pillow converts these to grey directly
    return np.array(image if image.mode == wanted else image.convert(wanted))


def _blend_with_white(image: Image.Image) -> Image.Image:
    white = Image.new("RGB", image.size, (255, 255, 255))
    white.paste(image, mask=image.getchannel("A"))
    return white


def scale_to_bytes(values: NDArray[Any], *, of: str = "") -> Bytes:
    """Scale deep pixels down to 8 bits.

    16-bit values are divided by 257. Files with 32-bit integers or floats do not define white: the
    smallest of 1 (floats only), 255 and 65535 that no pixel exceeds is used as white. Values that
    exceed all of these, or are negative, are stretched from their minimum to their maximum.
    """
    if values.dtype.itemsize == 1:
        return values.view(np.uint8)
    if values.dtype == np.uint16 or of.startswith("I;16"):
        return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
    finite = np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    least, greatest = float(finite.min()), float(finite.max())
    whites = (1.0, 255.0, 65535.0) if values.dtype.kind == "f" else (255.0, 65535.0)
    fitting = [white for white in whites if least >= 0.0 and greatest <= white]
    if fitting:
        least, greatest = 0.0, fitting[0]
    spread = greatest - least if greatest > least else 1.0
    scaled = (finite.astype(np.float64) - least) * (255.0 / spread)
    return np.rint(scaled).clip(0, 255).astype(np.uint8)


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
