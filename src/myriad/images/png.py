"""Whether a PNG file has data for all of its pixels, which Pillow does not say."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from PIL.Image import Image

_HEADER = struct.Struct(">4sIIBBBBB")
"""The first chunk: name, width, height, bit depth, colour type, two unused fields, interlacing."""
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Values per pixel, by colour type."""
_PASSES = (
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)
)  # fmt: skip
"""Column and row at which each pass of an interlaced image starts, and its steps."""
_BUFFER = 1 << 20


def lacks_data(data: bytes, image: Image) -> bool:
    """Return whether a decoded image has pixels for which there were no data.

    Pillow leaves them zero. So the data are decompressed a second time, to be counted, only if the
    last row is zero, or if rows are interlaced.
    """
    name, width, height, bits, kind, _, _, interlaced = _HEADER.unpack_from(data, 12)
    if name != b"IHDR" or kind not in _CHANNELS:
        return False
    if not interlaced and np.asarray(image.crop((0, height - 1, width, height))).any():
        return False
    passes = _PASSES if interlaced else ((0, 0, 1, 1),)
    needed = 0
    for x, y, step_x, step_y in passes:
        n_columns, n_rows = (width - x - 1) // step_x + 1, (height - y - 1) // step_y + 1
        if n_columns > 0:
            needed += n_rows * (1 + (n_columns * bits * _CHANNELS[kind] + 7) // 8)
    return _count_bytes(data, needed) < needed


def _count_bytes(data: bytes, enough: int) -> int:
    """Return how many bytes the chunks of data become; counting ends at `enough`."""
    inflate, count = zlib.decompressobj(), 0
    for chunk in _iterate_data(data):
        rest = chunk
        while rest and count < enough:
            count += len(inflate.decompress(rest, _BUFFER))
            rest = inflate.unconsumed_tail
    return count + len(inflate.flush(_BUFFER))


def _iterate_data(data: bytes) -> Iterator[bytes]:
    at = 8
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if name == b"IDAT":
            yield data[at + 8 : at + 8 + size]
        at += 12 + size
