"""TIFF files of forms that Pillow does not know (colour in floats, 64 bits), read by OpenCV."""

from __future__ import annotations

import io
from typing import Any

import cv2
import numpy as np
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from myriad.arrays import Bytes
from myriad.images.pixels import fit_channels, scale_to_bytes

_WIDTH, _HEIGHT, _CHANNELS = 256, 257, 277
_PIECES = ((273, 279), (324, 325))  # offsets and byte counts of strips, of tiles


def read_tiff_tags(data: bytes) -> dict[int, Any]:
    """Return the tags of the first picture of a TIFF file; any exception means it is damaged."""
    directory = ImageFileDirectory_v2(data[:8])
    stream = io.BytesIO(data)
    stream.seek(directory.next)
    directory.load(stream)
    return dict(directory)


def count_tiff_pixels(tags: dict[int, Any]) -> int:
    """Return width x height as the tags state them."""
    return int(tags[_WIDTH]) * int(tags[_HEIGHT])


def is_tiff_whole(tags: dict[int, Any], n_bytes: int) -> bool:
    """Return whether every strip or tile lies inside a file of `n_bytes`."""
    ends = [
        int(start) + int(count)
        for starts, counts in _PIECES
        for start, count in zip(tags.get(starts, ()), tags.get(counts, ()), strict=True)
    ]
    return bool(ends) and max(ends) <= n_bytes


def decode_tiff(data: bytes, tags: dict[int, Any], *, colour: bool) -> Bytes | None:
    """Decode with OpenCV, which turns TIFF upright; None if it cannot. The size was checked."""
    if int(tags.get(_CHANNELS, 1)) not in (1, 3, 4):
        return None
    values = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if values is None:
        return None
    if values.ndim == 3:
        values = np.ascontiguousarray(values[:, :, 2::-1])  # BGR(A) to RGB
    return fit_channels(scale_to_bytes(values), colour=colour)
