from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from myriad.images.jpeg import read_jpeg_header
from myriad.images.reading import BadImage, read_image
from tests.images.pictures import (
    colour_picture,
    encode,
    encode_float_tiff,
    grey_of,
    grey_picture,
)

RGB = colour_picture()
GREY = grey_picture()

LOSSLESS = {
    "png": lambda p: encode(p, "PNG"),
    "bmp": lambda p: encode(p, "BMP"),
    "tiff": lambda p: encode(p, "TIFF"),
    "tiff lzw": lambda p: encode(p, "TIFF", compression="tiff_lzw"),
    "tiff deflate": lambda p: encode(p, "TIFF", compression="tiff_adobe_deflate"),
    "webp": lambda p: encode(p, "WEBP", lossless=True),
}
LOSSY = {
    "jpeg": (lambda p: encode(p, "JPEG", quality=95, subsampling=0), 4),
    "progressive jpeg": (lambda p: encode(p, "JPEG", quality=95, progressive=True), 12),
    "webp": (lambda p: encode(p, "WEBP", quality=95), 12),
    "tiff jpeg": (lambda p: encode(p, "TIFF", compression="jpeg"), 25),
}


def mean_error(a, b) -> float:
    assert a.shape == b.shape
    return float(np.abs(a.astype(np.float64) - b).mean())


class TestFormats:
    @pytest.mark.parametrize("form", LOSSLESS)
    def test_lossless_colour_is_exact(self, form):
        pixels = read_image(LOSSLESS[form](RGB), colour=True)
        assert pixels.dtype == np.uint8
        assert pixels.flags.c_contiguous
        np.testing.assert_array_equal(pixels, RGB)

    @pytest.mark.parametrize("form", LOSSLESS)
    def test_lossless_colour_to_grey(self, form):
        pixels = read_image(LOSSLESS[form](RGB))
        assert np.abs(pixels - grey_of(RGB)).max() <= 1.0

    @pytest.mark.parametrize("form", LOSSLESS)
    def test_lossless_grey(self, form):
        np.testing.assert_array_equal(read_image(LOSSLESS[form](GREY)), GREY)
        as_colour = read_image(LOSSLESS[form](GREY), colour=True)
        np.testing.assert_array_equal(as_colour, np.dstack([GREY] * 3))

    @pytest.mark.parametrize("form", LOSSY)
    def test_lossy_is_near(self, form):
        encoder, most = LOSSY[form]
        pixels = read_image(encoder(RGB), colour=True)
        assert mean_error(pixels, RGB) < most / 2
        assert mean_error(read_image(encoder(RGB)), grey_of(RGB)) < most / 2

    def test_grey_jpeg(self):
        data = encode(GREY, "JPEG", quality=95)
        assert mean_error(read_image(data), GREY) < 2
        assert read_image(data, colour=True).shape == (*GREY.shape, 3)

    def test_jpeg_agrees_with_pillow(self):
        data = encode(RGB, "JPEG", quality=95, subsampling=0)
        other = np.asarray(Image.open(io.BytesIO(data)))
        assert np.abs(read_image(data, colour=True).astype(int) - other).max() <= 3

    def test_first_frame_of_animations(self):
        first, second = Image.fromarray(RGB), Image.fromarray(255 - RGB)
        for form, options in (("GIF", {}), ("WEBP", {"lossless": True}), ("PNG", {})):
            data = encode(first, form, save_all=True, append_images=[second], **options)
            assert mean_error(read_image(data, colour=True), RGB) < 12, form

    def test_first_page_of_a_tiff(self):
        data = encode(
            Image.fromarray(RGB), "TIFF", save_all=True, append_images=[Image.fromarray(255 - RGB)]
        )
        np.testing.assert_array_equal(read_image(data, colour=True), RGB)

    def test_path_and_bytes_are_the_same(self, tmp_path):
        path = tmp_path / "a name with 'quotes',\nlines and ü.txt"
        path.write_bytes(encode(RGB, "PNG"))
        np.testing.assert_array_equal(read_image(path, colour=True), RGB)

    def test_one_pixel(self):
        assert read_image(encode(np.array([[7]], np.uint8), "PNG")).tolist() == [[7]]


class TestModes:
    @pytest.mark.parametrize("form", ["PNG", "WEBP", "TIFF"])
    def test_transparency_is_laid_on_white(self, form):
        alpha = np.zeros(RGB.shape[:2], np.uint8)
        alpha[:, 20:40], alpha[:, 40:] = 128, 255
        options = {"lossless": True, "exact": True} if form == "WEBP" else {}
        data = encode(np.dstack([RGB, alpha]), form, **options)
        share = alpha[..., None] / 255.0
        expected = RGB * share + 255.0 * (1 - share)
        assert np.abs(read_image(data, colour=True) - expected).max() <= 1.0
        assert np.abs(read_image(data) - grey_of(expected)).max() <= 1.5

    def test_grey_with_transparency(self):
        alpha = np.zeros_like(GREY)
        alpha[:, 32:] = 255
        image = Image.merge("LA", (Image.fromarray(GREY), Image.fromarray(alpha)))
        pixels = read_image(encode(image, "PNG"))
        assert (pixels[:, :32] == 255).all()
        np.testing.assert_array_equal(pixels[:, 32:], GREY[:, 32:])

    @pytest.mark.parametrize("form", ["PNG", "GIF", "TIFF", "BMP"])
    def test_palette(self, form):
        image = Image.fromarray(RGB).quantize(64)
        expected = np.asarray(image.convert("RGB"))
        np.testing.assert_array_equal(read_image(encode(image, form), colour=True), expected)
        assert np.abs(read_image(encode(image, form)) - grey_of(expected)).max() <= 1.0

    @pytest.mark.parametrize("form", ["PNG", "GIF"])
    def test_palette_with_a_transparent_colour(self, form):
        indices = np.zeros((6, 8), np.uint8)
        indices[:, 4:] = 1
        image = Image.fromarray(indices, "P")
        image.putpalette([10, 20, 30, 200, 100, 50])
        pixels = read_image(encode(image, form, transparency=0), colour=True)
        assert (pixels[:, :4] == 255).all()
        assert (pixels[:, 4:] == (200, 100, 50)).all()

    def test_palette_with_many_alphas(self):
        image = Image.fromarray(np.array([[0, 1]], np.uint8), "P")
        image.putpalette([0, 0, 0, 0, 0, 0])
        data = encode(image, "PNG", transparency=bytes([0, 128]))
        assert read_image(data).tolist() == [[255, 127]]

    def test_transparent_colour_of_an_rgb_png(self):
        picture = np.array([[[1, 2, 3], [9, 9, 9]]], np.uint8)
        data = encode(picture, "PNG", transparency=(1, 2, 3))
        assert read_image(data, colour=True).tolist() == [[[255, 255, 255], [9, 9, 9]]]

    def test_one_bit(self):
        bits = np.zeros((5, 9), bool)
        bits[2:, 3:] = True
        for form in ("PNG", "BMP", "TIFF"):
            pixels = read_image(encode(Image.fromarray(bits), form))
            np.testing.assert_array_equal(pixels, bits * np.uint8(255))

    def test_cmyk(self):
        cmyk = Image.fromarray(RGB).convert("CMYK")
        tiff = read_image(encode(cmyk, "TIFF"), colour=True)
        assert mean_error(tiff, RGB) < 2
        # libjpeg writes Adobe's marker and Pillow inverts, as Photoshop does
        data = encode(cmyk, "JPEG", quality=95)
        assert b"Adobe" in data
        assert mean_error(read_image(data, colour=True), RGB) < 4
        assert mean_error(read_image(data), grey_of(RGB)) < 4

    @pytest.mark.parametrize("suffix", [".png", ".tiff"])
    def test_sixteen_bits_are_scaled_not_cut(self, suffix):
        deep = np.arange(0, 65536, 32, dtype=np.uint16).reshape(32, 64)
        data = cv2.imencode(suffix, deep)[1].tobytes()
        assert np.abs(read_image(data) - deep / 257.0).max() <= 0.5 + 1e-9
        colours = np.dstack([deep, deep[::-1], deep[:, ::-1]])
        data = cv2.imencode(suffix, colours[:, :, ::-1])[1].tobytes()
        assert np.abs(read_image(data, colour=True) - colours / 257.0).max() <= 1.0
        assert np.abs(read_image(data) - grey_of(colours / 257.0)).max() <= 1.5

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("channels", [1, 3])
    def test_float_tiff(self, dtype, channels):
        picture = (GREY if channels == 1 else RGB).astype(dtype) / 255.0
        picture.flat[0] = 1.0  # white is there
        stored = picture if channels == 1 else picture[:, :, ::-1]
        data = encode_float_tiff(stored)
        pixels = read_image(data, colour=channels == 3)
        assert np.abs(pixels - picture * 255.0).max() <= 0.5 + 1e-3

    def test_integers_of_32_bits(self):
        deep = GREY.astype(np.int32) * 257
        data = cv2.imencode(".tiff", deep)[1].tobytes()
        assert np.abs(read_image(data).astype(int) - GREY).max() <= 1


class TestOrientation:
    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "CMYK JPEG"])
    def test_upright(self, form, orientation):
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = Image.fromarray(RGB).convert("CMYK" if form == "CMYK JPEG" else "RGB")
        options = {"lossless": True} if form == "WEBP" else {}
        if "JPEG" in form:
            options = {"quality": 95}
        image.getexif()[0x0112] = orientation
        expected = np.asarray(ImageOps.exif_transpose(_with_exif(RGB, exif)))
        data = encode(image, form.split()[-1], exif=exif, **options)
        assert mean_error(read_image(data, colour=True), expected) < 4
        assert mean_error(read_image(data), grey_of(expected)) < 4

    @pytest.mark.parametrize("orientation", [1, 3, 6, 8])
    def test_reduced_jpeg_is_upright_too(self, orientation):
        picture = colour_picture(160, 256)
        exif = Image.Exif()
        exif[0x0112] = orientation
        upright = np.asarray(ImageOps.exif_transpose(_with_exif(picture, exif)))
        data = encode(picture, "JPEG", exif=exif, quality=95)
        pixels = read_image(data, colour=True, min_pixels=100)
        small = cv2.resize(upright, pixels.shape[1::-1], interpolation=cv2.INTER_AREA)
        assert mean_error(pixels, small) < 6

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_float_tiff_is_upright(self, orientation):
        picture = RGB.astype(np.float32)[:, :, ::-1] / 255.0
        data = bytearray(encode_float_tiff(picture))
        _set_tiff_orientation(data, orientation)
        exif = {0x0112: orientation}
        expected = np.asarray(ImageOps.exif_transpose(_with_exif(RGB, exif)))
        pixels = read_image(bytes(data), colour=True)
        np.testing.assert_array_equal(pixels, expected)

    def test_damaged_exif_does_not_spoil_the_picture(self):
        for junk in (
            b"Exif\0\0II*\0\xff\xff\xff\xff",
            b"Exif\0\0",
            b"Exif\0\0MM\0*\0\0\0\x08\xff\xff",
        ):
            png = encode(RGB, "PNG")
            body = b"eXIf" + junk[6:]
            chunk = struct.pack(">I", len(junk) - 6) + body + struct.pack(">I", zlib.crc32(body))
            np.testing.assert_array_equal(read_image(png[:33] + chunk + png[33:], colour=True), RGB)
            segment = b"\xff\xe1" + struct.pack(">H", len(junk) + 2) + junk
            jpeg = encode(RGB, "JPEG", quality=95)
            pixels = read_image(jpeg[:2] + segment + jpeg[2:], colour=True)
            assert mean_error(pixels, RGB) < 4


def _with_exif(picture, exif):
    image = Image.fromarray(picture)
    image.getexif()[0x0112] = exif[0x0112]
    return image


def _set_tiff_orientation(data: bytearray, orientation: int) -> None:
    """Append a directory with an orientation to a little-endian TIFF that has none."""
    at = int.from_bytes(data[4:8], "little")
    count = int.from_bytes(data[at : at + 2], "little")
    tags = [data[e : e + 12] for e in range(at + 2, at + 2 + 12 * count, 12)]
    tags.append(struct.pack("<HHIHH", 274, 3, 1, orientation, 0))
    tags.sort(key=lambda tag: int.from_bytes(tag[:2], "little"))
    data[4:8] = len(data).to_bytes(4, "little")
    data += (count + 1).to_bytes(2, "little") + b"".join(tags) + bytes(4)


class TestReducedDecoding:
    def test_factors(self):
        data = encode(colour_picture(240, 320), "JPEG")  # 76800 pixels
        shapes = {
            m: read_image(data, min_pixels=m).shape for m in (None, 19000, 4800, 1200, 300, 1)
        }
        assert shapes[None] == shapes[19000] == (240, 320)
        assert shapes[4800] == (120, 160)
        assert shapes[1200] == (60, 80)
        assert shapes[300] == shapes[1] == (30, 40)

    def test_keeps_four_times_what_is_asked(self):
        data = encode(colour_picture(233, 311), "JPEG")
        for wanted in (10, 100, 1000, 5000):
            assert read_image(data, min_pixels=wanted).size >= 4 * wanted


class TestJpegHeader:
    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"comment": b"\xff\xd9" * 9}])
    def test_size_and_channels(self, options):
        header = read_jpeg_header(encode(colour_picture(31, 57), "JPEG", **options))
        assert (header.width, header.height, header.channels) == (57, 31, 3)
        assert header.complete
        assert read_jpeg_header(encode(grey_picture(31, 57), "JPEG")).channels == 1

    def test_end_marker_in_a_comment_is_not_the_end(self):
        data = encode(colour_picture(), "JPEG", comment=b"\xff\xd9" * 9)
        assert not read_jpeg_header(data[:-2]).complete

    def test_padding_before_markers_is_ignored(self):
        data = encode(colour_picture(31, 57), "JPEG")
        padded = data[:2] + b"\xff\xff\xff" + data[2:]
        assert read_jpeg_header(padded) == read_jpeg_header(data)

    def test_truncated_header(self):
        data = encode(colour_picture(), "JPEG")
        frame = data.index(b"\xff\xc0")
        assert read_jpeg_header(data[: frame + 6]) is None
        for end in (frame + 6, frame + 19):
            with pytest.raises(BadImage, match="truncated JPEG"):
                read_image(data[:end])

    @pytest.mark.parametrize(
        "data", [b"", b"\xff\xd8", b"\xff\xd8\xff\xda\0\x08abcdef", b"\xff\xd8abcdefgh"]
    )
    def test_invalid_segments(self, data):
        assert read_jpeg_header(data) is None

    def test_segment_of_no_length(self):
        assert read_jpeg_header(b"\xff\xd8\xff\xe0\0\0\0\0\0\0") is None
