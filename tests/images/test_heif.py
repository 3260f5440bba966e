"""HEIC and AVIF, and what is said where they cannot be read."""

import sys

import numpy as np
import pytest
from PIL import Image, features

from myriad.images.facts import Header, read_header
from myriad.images.listing import is_image_name
from myriad.images.reading import BadImage, read_image
from tests.images.pictures import colour_picture, encode


@pytest.fixture
def heic():
    heif = pytest.importorskip("pillow_heif")
    import io

    stream = io.BytesIO()
    heif.from_pillow(Image.fromarray(colour_picture())).save(stream, quality=90)
    return stream.getvalue()


def test_heic(heic):
    found = read_image(heic, colour=True)
    assert np.abs(found.astype(int) - colour_picture()).mean() < 8
    assert read_image(heic).shape == (40, 64)
    with pytest.raises(BadImage, match="HEIC"):
        read_image(heic[: len(heic) // 2])
    with pytest.raises(BadImage, match="2560 pixels, more than the limit"):
        read_image(heic, max_pixels=100)


@pytest.mark.skipif(not features.check("avif"), reason="Pillow without AVIF")
def test_avif():
    data = encode(colour_picture(), "AVIF", quality=90)
    assert np.abs(read_image(data, colour=True).astype(int) - colour_picture()).mean() < 8
    with pytest.raises(BadImage, match="AVIF"):
        read_image(data[: len(data) // 2])


def test_what_is_missing_is_named(heic, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(BadImage, match=r"pip install 'myriad-learn\[heif\]'"):
        read_image(heic)


def test_a_video_is_named():
    with pytest.raises(BadImage, match="a video"):
        read_image(b"\0\0\0\x18ftypisom\0\0\2\0isomiso2" + bytes(50))


def test_suffixes():
    assert all(is_image_name(name) for name in ("a.HEIC", "a.heif", "a.avif"))


def test_the_header_of_heic_has_size_and_mode(heic):
    assert read_header(heic) == Header("HEIC", 64, 40, "RGB")
