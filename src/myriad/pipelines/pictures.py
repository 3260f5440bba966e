"""The image that a row came from, by the path in its store."""

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
    """Return an image, by default in colour, or None if it no longer exists.

    The image may be in an archive; `path` then begins with the path of the archive.

    Parameters
    ----------
    pixels : minimum number of pixels, if not all are needed; see `read_image`.
    """
    target = Path(path)
    try:
        if target.is_file():
            return read_image(target, colour=colour, min_pixels=pixels)
        for parent in target.parents:
            if parent.is_file():
                content = _open(parent).read(target.relative_to(parent).as_posix())
                return read_image(content, colour=colour, min_pixels=pixels)
    except (MyriadError, OSError):
        return None
    return None


@lru_cache(maxsize=2)
def _open(path: Path) -> Archive:
    return open_archive(path)
