"""Facts about one image: format, size and colour mode from its header, quality from its pixels."""

from __future__ import annotations

import io
from dataclasses import dataclass

import cv2
import numpy as np

from myriad.arrays import Bytes
from myriad.images.pillow_warnings import pillow_warnings_ignored
from myriad.images.reading import BadImage, find_reader

MEASURED_SIDE = 128
"""The shorter side of the image that quality is measured on; larger ones are shrunk to it."""
GREY_BINS = 32
TAIL = 0.02
"""Fraction of the pixels that are darker than the dark end of an image, and brighter than its
bright end: a speck or a line of text does not change them."""


@dataclass(frozen=True)
class Header:
    """The header of an image file.

    Attributes
    ----------
    format : such as "JPEG".
    width, height : in pixels, before it is rotated according to its EXIF orientation; 0 if unknown.
    mode : the colour mode as Pillow names it: "RGB", "L" (grey), "CMYK", ...; "" if unknown.
    """

    format: str
    width: int
    height: int
    mode: str


@dataclass(frozen=True)
class Quality:
    """Quality of an image, measured on its grey values from 0 to 255.

    Attributes
    ----------
    dark, bright : the grey values that a fraction `TAIL` of the pixels is below and above.
    entropy : of the histogram of grey values in 32 bins, in bits: from 0 to 5.
    sharpness : the variance of the Laplacian as a fraction of the variance of the grey values;
        low if neighbouring pixels are nearly equal everywhere. A Laplacian is larger in a smaller
        picture, which is corrected for, so that small images are comparable.
    """

    dark: float
    bright: float
    entropy: float
    sharpness: float


def read_header(data: bytes) -> Header:
    """Return what the header of an image file says; `BadImage` if the format is not recognised."""
    form, reader = find_reader(data)
    try:
        with pillow_warnings_ignored(), reader(io.BytesIO(data), "") as one:
            return Header(form, *one.size, one.mode)
    except BadImage:
        raise
    except Exception:  # what Pillow does not support, OpenCV may have read
        return Header(form, 0, 0, "")


def measure_quality(image: Bytes) -> Quality:
    """Measure the quality of a uint8 image, grey or RGB."""
    grey = shrink_grey(image)
    dark, bright = np.quantile(grey, [TAIL, 1.0 - TAIL])
    counts = np.histogram(grey, GREY_BINS, (0, 256))[0]
    shares = counts[counts > 0] / grey.size
    sharpness = 0.0
    variance = float(grey.var())
    if variance > 0:
        laplacian = cv2.Laplacian(grey, cv2.CV_32F, borderType=cv2.BORDER_REPLICATE)
        scale = min(grey.shape) / MEASURED_SIDE
        sharpness = scale**2 * float(laplacian.var()) / variance
    return Quality(float(dark), float(bright), float(-(shares * np.log2(shares)).sum()), sharpness)


def shrink_grey(image: Bytes) -> np.ndarray:
    """Return an image in grey, float32, its shorter side at most `MEASURED_SIDE`."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image
    height, width = grey.shape
    factor = MEASURED_SIDE / min(height, width)
    if factor < 1:
        size = (max(1, round(width * factor)), max(1, round(height * factor)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    return grey.astype(np.float32)
