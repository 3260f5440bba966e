"""Pictures for people: the image that a row came from, by the path that its store remembers."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myriad.errors import MyriadError
from myriad.images import read_image
from myriad.images.archive import Archive, open_archive

PIXELS = 40_000


def read_picture(
    path: str, *, colour: bool = True, pixels: int | None = PIXELS
) -> NDArray[np.uint8] | None:
    """Return an image, in colour unless told otherwise, or None if it is no longer there.

    The image may lie in an archive, whose own path is then the beginning of `path`.

    Parameters
    ----------
    pixels : how many are wanted at least, if not all; see `read_image`.
    """
    place = Path(path)
    try:
        if place.is_file():
            return read_image(place, colour=colour, min_pixels=pixels)
        for parent in place.parents:
            if parent.is_file():
                content = _open(parent).read(place.relative_to(parent).as_posix())
                return read_image(content, colour=colour, min_pixels=pixels)
    except (MyriadError, OSError):
        return None
    return None


@lru_cache(maxsize=2)
def _open(path: Path) -> Archive:
    return open_archive(path)
