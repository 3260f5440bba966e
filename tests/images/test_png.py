"""PNG files with fewer data than pixels, which decoders fill with zeros without a word."""

import struct
import zlib

import numpy as np
import pytest

from myriad.images.reading import BadImage, read_image
from tests.images.pictures import colour_picture, encode

KINDS = {"L": 0, "RGB": 2, "P": 3, "LA": 4, "RGBA": 6}
CHANNELS = {"L": 1, "RGB": 3, "P": 1, "LA": 2, "RGBA": 4}
STARTS = [(0, 0), (0, 4), (4, 0), (0, 2), (2, 0), (0, 1), (1, 0)]
STEPS = [(8, 8), (8, 8), (8, 4), (4, 4), (4, 2), (2, 2), (2, 1)]


def write_chunk(name, content):
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def write_png(mode, width, height, rows, *, bits=8, interlaced=False, n_chunks=1):
    """Return a PNG file with rows that need not be those that its header states."""
    header = struct.pack(">IIBBBBB", width, height, bits, KINDS[mode], 0, 0, interlaced)
    packed = zlib.compress(b"".join(b"\0" + row for row in rows))
    step = max(1, -(-len(packed) // n_chunks))
    chunks = [write_chunk(b"IHDR", header)]
    chunks += [write_chunk(b"PLTE", bytes(range(256)) * 3)] if mode == "P" else []
    chunks += [write_chunk(b"IDAT", packed[at : at + step]) for at in range(0, len(packed), step)]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + write_chunk(b"IEND", b"")


def draw_rows(mode, width, height, bits=8, value=7):
    return [bytes([value]) * -(-width * CHANNELS[mode] * bits // 8)] * height


@pytest.mark.parametrize(
    ("mode", "bits"),
    [
        ("L", 1),
        ("L", 4),
        ("P", 1),
        ("P", 4),
        ("L", 16),
        ("RGB", 16),
        *((mode, 8) for mode in KINDS),
    ],
)
def test_rows_that_are_missing(mode, bits):
    for value in (7, 0):
        rows = draw_rows(mode, 21, 9, bits, value)
        assert read_image(write_png(mode, 21, 9, rows, bits=bits)).shape == (9, 21)
        for missing in (1, 5):
            with pytest.raises(BadImage, match="truncated PNG"):
                read_image(write_png(mode, 21, 9, rows[:-missing], bits=bits))


@pytest.mark.parametrize("n_chunks", [1, 3, 1000])
def test_a_picture_that_ends_in_black_is_complete(n_chunks):
    picture = colour_picture(40, 30)
    picture[20:] = 0
    rows = [row.tobytes() for row in picture]
    data = write_png("RGB", 30, 40, rows, n_chunks=n_chunks)
    np.testing.assert_array_equal(read_image(data, colour=True), picture)
    np.testing.assert_array_equal(read_image(encode(picture, "PNG"), colour=True), picture)
    with pytest.raises(BadImage, match="truncated PNG"):
        read_image(write_png("RGB", 30, 60, rows, n_chunks=n_chunks))


@pytest.mark.parametrize("size", [(1, 1), (2, 5), (5, 2), (8, 8), (9, 17)])
def test_interlaced_rows(size):
    height, width = size
    picture = np.arange(height * width, dtype=np.uint8).reshape(size)
    passes = [
        picture[y::down, x::right] for (y, x), (down, right) in zip(STARTS, STEPS, strict=True)
    ]
    rows = [row.tobytes() for part in passes if part.size for row in part]
    data = write_png("L", width, height, rows, interlaced=True)
    np.testing.assert_array_equal(read_image(data), picture)
    if len(rows) > 1:
        with pytest.raises(BadImage, match="truncated PNG"):
            read_image(write_png("L", width, height, rows[:-1], interlaced=True))
