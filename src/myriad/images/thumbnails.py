"""Thumbnails: the middle square of an image, shrunk, as a JPEG file."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes

SIDE = 96
QUALITY = 80


def make_thumbnail(image: NDArray[np.generic], side: int = SIDE) -> bytes | None:
    """Cut the middle square of an image, shrink it to `side` pixels, return it as a JPEG file.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3) in RGB, or (height, width) in grey.
    side : maximum pixels per side; a smaller image keeps its size.

    Returns
    -------
    The content of the file, or None if the array is not such an image.
    """
    colour = image.ndim == 3 and image.shape[2] == 3
    if image.dtype != np.uint8 or image.size == 0 or not (colour or image.ndim == 2):
        return None
    square: cv2.typing.MatLike = _cut_square(image.view(np.uint8))
    if square.shape[0] > side:
        square = cv2.resize(square, (side, side), interpolation=cv2.INTER_AREA)
    if colour:
        square = cv2.cvtColor(square, cv2.COLOR_RGB2BGR)
    done, coded = cv2.imencode(".jpg", square, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return coded.tobytes() if done else None


def _cut_square(image: Bytes) -> Bytes:
    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return np.ascontiguousarray(image[top : top + side, left : left + side])
