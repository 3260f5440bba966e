"""Small pictures embedded in a page as ``data:`` addresses, so that it needs no other file."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from myriad.errors import MyriadError
from myriad.images.thumbnails import SIDE, make_thumbnail

Image = NDArray[np.uint8]
ReadImage = Callable[[str], Image | None]


class Thumbnails:
    """Thumbnails by path; each image is read once."""

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

    @property
    def found_any(self) -> bool:
        """Whether there is a thumbnail at all; rows that were imported have none."""
        return any(self._made.values())

    def _read(self, path: str) -> Image | None:
        try:
            return self._read_image(path)
        except (OSError, ValueError, MyriadError):
            return None  # a report with a gap is worth more than no report


def encode_thumbnail(image: Image, side: int = SIDE) -> str | None:
    """Return the thumbnail of an image as a ``data:image/jpeg;base64,...`` address.

    None if the array is not an image; see `make_thumbnail`.
    """
    file = make_thumbnail(image, side)
    if file is None:
        return None
    return "data:image/jpeg;base64," + base64.b64encode(file).decode("ascii")
