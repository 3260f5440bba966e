from __future__ import annotations

import pytest

from myriad.images.jpeg import read_jpeg_header
from tests.images.pictures import colour_picture, encode, grey_picture


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"comment": b"\xff\xd9" * 9}])
def test_reads_size_and_channels(options):
    header = read_jpeg_header(encode(colour_picture(31, 57), "JPEG", **options))
    assert (header.width, header.height, header.channels, header.precision) == (57, 31, 3, 8)
    assert header.whole
    assert read_jpeg_header(encode(grey_picture(31, 57), "JPEG")).channels == 1


def test_end_in_a_comment_is_not_the_end():
    data = encode(colour_picture(), "JPEG", comment=b"\xff\xd9" * 9)
    assert not read_jpeg_header(data[:-2]).whole


def test_padding_before_markers_is_passed_over():
    data = encode(colour_picture(31, 57), "JPEG")
    padded = data[:2] + b"\xff\xff\xff" + data[2:]
    assert read_jpeg_header(padded) == read_jpeg_header(data)


def test_header_cut_before_and_after_the_frame():
    data = encode(colour_picture(), "JPEG")
    frame = data.index(b"\xff\xc0")
    assert read_jpeg_header(data[: frame + 6]) is None
    assert not read_jpeg_header(data[: frame + 19]).whole


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xda\0\x08abcdef", b"\xff\xd8abcdefgh"]
)
def test_nonsense(data):
    assert read_jpeg_header(data) is None


def test_segment_of_no_length_ends_the_walk():
    assert read_jpeg_header(b"\xff\xd8\xff\xe0\0\0\0\0\0\0") is None
