"""Pictures for the tests, smooth enough for JPEG and without any symmetry."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image


def colour_picture(height: int = 40, width: int = 64) -> np.ndarray:
    """Return a smooth RGB picture with a bright corner at the top left."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red = 40 + 180 * x / width
    green = 200 - 150 * y / height
    blue = 90 + 60 * np.sin(x / 9.0) * np.cos(y / 7.0)
    picture = np.stack([red, green, blue], axis=2)
    picture[: height // 4, : width // 4] = (250, 240, 20)
    return np.rint(picture).astype(np.uint8)


def grey_of(rgb: np.ndarray) -> np.ndarray:
    """Return the luma of ITU-R 601 in float64."""
    return rgb.astype(np.float64) @ np.array([0.299, 0.587, 0.114])


def grey_picture(height: int = 40, width: int = 64) -> np.ndarray:
    """Return the grey of the colour picture as uint8."""
    return np.rint(grey_of(colour_picture(height, width))).astype(np.uint8)


def encode(picture: np.ndarray | Image.Image, form: str, **options: Any) -> bytes:
    """Encode with Pillow."""
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def write_picture(path: Path, *, size: int = 8, level: int = 128) -> Path:
    """Write a small picture at a path, whose suffix says the format; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size, size), level, np.uint8)).save(path)
    return path


def encode_float_tiff(picture: np.ndarray) -> bytes:
    """Encode with OpenCV, not compressed: by default, its version 4 is lossy for three channels."""
    options = [cv2.IMWRITE_TIFF_COMPRESSION, 1]
    return cv2.imencode(".tiff", np.ascontiguousarray(picture), options)[1].tobytes()
