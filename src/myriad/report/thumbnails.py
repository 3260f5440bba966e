"""Small pictures embedded in a page as ``data:`` addresses, so that it needs no other file."""

from __future__ import annotations

import base64
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.errors import MyriadError

Image = NDArray[np.uint8]
ReadImage = Callable[[str], Image | None]

SIDE = 96
QUALITY = 80


class Thumbnails:
    """Thumbnails by path; each image is read once, one that cannot be read has none."""

    def __init__(self, read_image: ReadImage) -> None:
        self._read_image = read_image
        self._made: dict[tuple[str, int], str | None] = {}

    def find(self, path: str | None, side: int = SIDE) -> str | None:
        """Return the ``data:`` address of the thumbnail of an image, None without image."""
        if path is None:
            return None
        if (path, side) not in self._made:
            image = self._read(path)
            self._made[path, side] = None if image is None else encode_thumbnail(image, side)
        return self._made[path, side]

    def _read(self, path: str) -> Image | None:
        try:
            return self._read_image(path)
        except (OSError, ValueError, MyriadError):
            return None  # a report with a gap is worth more than no report


def encode_thumbnail(image: Image, side: int = SIDE) -> str | None:
    """Cut the middle square of an image, shrink it to `side` pixels, return it as JPEG address.

    Parameters
    ----------
    image : uint8 array of shape (height, width, 3) in RGB, or (height, width) in grey.
    side : the most pixels a side; a smaller image keeps its size.

    Returns
    -------
    A ``data:image/jpeg;base64,...`` address, or None if the array is no such image.
    """
    colour = image.ndim == 3 and image.shape[2] == 3
    if image.dtype != np.uint8 or image.size == 0 or not (colour or image.ndim == 2):
        return None
    square: cv2.typing.MatLike = _cut_square(image)
    if square.shape[0] > side:
        square = cv2.resize(square, (side, side), interpolation=cv2.INTER_AREA)
    if colour:
        square = cv2.cvtColor(square, cv2.COLOR_RGB2BGR)
    done, coded = cv2.imencode(".jpg", square, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    if not done:
        return None
    return "data:image/jpeg;base64," + base64.b64encode(coded.tobytes()).decode("ascii")


def _cut_square(image: Image) -> NDArray[np.uint8]:
    height, width = image.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    return np.ascontiguousarray(image[top : top + side, left : left + side])
