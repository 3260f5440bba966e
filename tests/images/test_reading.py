from __future__ import annotations

import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import warnings
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from myriad.errors import MyriadError
from myriad.images.reading import MAX_FILE_BYTES, BadImage, read_bytes, read_image
from tests.images.pictures import colour_picture, encode, grey_of, grey_picture

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


def reason_of(data) -> str:
    with pytest.raises(BadImage) as caught:
        read_image(data)
    assert isinstance(caught.value, MyriadError)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


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
        data = cv2.imencode(".tiff", np.ascontiguousarray(stored))[1].tobytes()
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
        data = bytearray(cv2.imencode(".tiff", np.ascontiguousarray(picture))[1].tobytes())
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


class TestDamage:
    @pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF"])
    @pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95, 0.999])
    def test_truncated(self, form, share):
        data = encode(colour_picture(120, 160), form)
        reason = reason_of(data[: int(len(data) * share)])
        assert reason.startswith(("truncated", "damaged")), reason

    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
    def test_jpeg_cut_anywhere(self, options):
        data = encode(colour_picture(120, 160), "JPEG", **options)
        for n_bytes in [*range(3, len(data) - 1, 97), len(data) - 2, len(data) - 1]:
            reason = reason_of(data[:n_bytes])
            assert reason in ("truncated JPEG", "damaged JPEG")
        assert reason_of(data[:-1]) == "truncated JPEG"

    def test_jpeg_filled_up_with_zeros(self):
        data = encode(colour_picture(120, 160), "JPEG")
        assert reason_of(data[: len(data) // 2] + bytes(len(data) // 2)) == "truncated JPEG"

    def test_thumbnail_does_not_hide_a_cut(self):
        thumbnail = encode(colour_picture(16, 16), "JPEG")
        segment = b"Exif\0\0" + thumbnail
        data = encode(colour_picture(120, 160), "JPEG", exif=segment)
        assert read_image(data).shape == (120, 160)
        assert reason_of(data[: len(data) - 500]) == "truncated JPEG"

    def test_bytes_after_the_end_do_not_matter(self):
        for form in ("JPEG", "PNG"):
            data = encode(RGB, form)
            expected = read_image(data, colour=True)
            again = read_image(data + b"trailing \xff bytes" + bytes(50), colour=True)
            np.testing.assert_array_equal(again, expected)

    @pytest.mark.parametrize("cut", [1, 4, 8, 12])
    def test_png_without_its_end(self, cut):
        assert reason_of(encode(RGB, "PNG")[:-cut]) == "truncated PNG"

    @pytest.mark.parametrize("cut", [1, 100, 10_000])
    def test_rare_tiff_truncated(self, cut):
        picture = np.ascontiguousarray(RGB.astype(np.float32) / 255.0)
        data = cv2.imencode(".tiff", picture)[1].tobytes()
        assert reason_of(data[:-cut]).startswith(("truncated", "damaged"))

    def test_empty(self, tmp_path):
        assert reason_of(b"") == "empty file"
        (tmp_path / "empty.jpg").touch()
        assert reason_of(tmp_path / "empty.jpg") == "empty file"

    @pytest.mark.parametrize("data", [b"hello, world\n", b"<html>", b"\0" * 100, b"%PDF-1.4", b"B"])
    def test_not_an_image(self, data):
        assert reason_of(data) == "not an image"

    def test_sound_in_a_riff_file_is_not_webp(self):
        assert reason_of(b"RIFF\x24\0\0\0WAVEfmt ") == "not an image"

    def test_heic_is_named(self):
        assert "HEIC" in reason_of(b"\0\0\0\x18ftypheic" + bytes(50))

    def test_missing_and_unreadable(self, tmp_path):
        assert reason_of(tmp_path / "nowhere.jpg") == "missing file"
        assert reason_of(tmp_path) == "not a file"
        os.mkfifo(tmp_path / "pipe.jpg")
        assert reason_of(tmp_path / "pipe.jpg") == "not a file"
        (tmp_path / "loop.jpg").symlink_to(tmp_path / "loop.jpg")
        assert reason_of(tmp_path / "loop.jpg").startswith("unreadable file (")
        assert reason_of(tmp_path / "nul\0.jpg") == "unreadable file (bad name)"
        assert reason_of(tmp_path / ("long" * 100)).startswith("unreadable file (")

    def test_no_permission(self, tmp_path, monkeypatch):
        path = tmp_path / "secret.jpg"
        path.touch()

        def refuse(*arguments, **options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
        with pytest.raises(BadImage, match="permission denied"):
            read_bytes(path)

    def test_file_too_large(self, tmp_path):
        path = tmp_path / "sparse.jpg"
        with path.open("wb") as stream:
            stream.truncate(MAX_FILE_BYTES + 1)
        assert (
            reason_of(path)
            == f"{MAX_FILE_BYTES + 1} bytes, more than the limit of {MAX_FILE_BYTES}"
        )

    def test_reason_survives_another_process(self):
        assert pickle.loads(pickle.dumps(BadImage("empty file"))).reason == "empty file"


class TestBombs:
    def test_png_header(self):
        header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)
        body = b"IHDR" + header
        end = b"\0\0\0\0IEND\xaeB`\x82"
        data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body
        data += struct.pack(">I", zlib.crc32(body))
        scan = b"IDAT" + zlib.compress(bytes(1000))
        data += struct.pack(">I", len(scan) - 4) + scan + struct.pack(">I", zlib.crc32(scan)) + end
        assert reason_of(data) == "2500000000 pixels, more than the limit of 100000000"

    @pytest.mark.parametrize("form", ["JPEG", "PNG", "BMP", "TIFF", "WEBP", "GIF"])
    def test_limit_is_exact(self, form):
        data = encode(RGB, form)
        n_pixels = RGB.shape[0] * RGB.shape[1]
        assert read_image(data, max_pixels=n_pixels).shape == RGB.shape[:2]
        with pytest.raises(BadImage, match=f"{n_pixels} pixels, more than the limit of"):
            read_image(data, max_pixels=n_pixels - 1)

    def test_jpeg_frame(self):
        data = bytearray(encode(RGB, "JPEG"))
        at = data.index(b"\xff\xc0")
        data[at + 5 : at + 9] = struct.pack(">HH", 65000, 65000)
        assert reason_of(bytes(data)).startswith("4225000000 pixels")

    def test_rare_tiff(self):
        picture = np.ascontiguousarray(RGB.astype(np.float32) / 255.0)
        data = cv2.imencode(".tiff", picture)[1].tobytes()
        with pytest.raises(BadImage, match="pixels, more than the limit"):
            read_image(data, max_pixels=100)

    def test_no_warning_of_pillow_leaks(self, monkeypatch):
        files = [encode(RGB, form) for form in ("PNG", "BMP", "TIFF", "WEBP", "GIF")]
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", RGB.shape[0] * RGB.shape[1] - 1)
        for data in files:
            assert read_image(data).shape == RGB.shape[:2]

    def test_limit_of_pillow_is_named(self, monkeypatch):
        data = encode(RGB, "TIFF")
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
        assert reason_of(data) == "TIFF with more pixels than Pillow allows"


class TestQuiet:
    def test_filters_are_put_back(self):
        before = list(warnings.filters)
        assert reason_of(encode(RGB, "TIFF")[:60]).endswith("TIFF")
        assert warnings.filters == before

    def test_filters_are_put_back_by_threads(self):
        before = list(warnings.filters)
        files = [encode(RGB, "PNG"), encode(RGB, "TIFF"), encode(RGB, "TIFF")[:700]]
        failures: list[BaseException] = []

        def work():
            for i in range(60):
                try:
                    read_image(files[i % 3])
                except BadImage:
                    pass
                except BaseException as error:
                    failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert warnings.filters == before

    def test_nothing_is_printed(self, tmp_path):
        for form in ("PNG", "TIFF", "JPEG", "WEBP", "GIF", "BMP"):
            data = encode(RGB, form)
            (tmp_path / form).write_bytes(data[: len(data) // 2])
        rare = cv2.imencode(".tiff", np.ascontiguousarray(RGB.astype(np.float32)))[1].tobytes()
        (tmp_path / "rare").write_bytes(rare[:-20])
        script = (
            "import sys, pathlib\n"
            "from myriad.images.reading import read_image, BadImage\n"
            "for path in pathlib.Path(sys.argv[1]).iterdir():\n"
            "    try: read_image(path); print('good', path)\n"
            "    except BadImage: pass\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert done.stdout + done.stderr == ""


SEEDS = [
    *(encode(RGB, form) for form in ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")),
    encode(RGB, "JPEG", progressive=True),
    encode(RGB, "TIFF", compression="tiff_lzw"),
    encode(Image.fromarray(RGB).convert("CMYK"), "JPEG"),
    encode(Image.fromarray(RGB).quantize(16), "PNG", transparency=3),
    cv2.imencode(".tiff", np.ascontiguousarray(RGB.astype(np.float32)))[1].tobytes(),
    cv2.imencode(".png", GREY.astype(np.uint16) * 200)[1].tobytes(),
]


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(
    seed=st.sampled_from(range(len(SEEDS))),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=12),
    in_header=st.booleans(),
    cut=st.floats(0, 1),
    colour=st.booleans(),
)
@example(seed=0, changes=[], in_header=False, cut=1.0, colour=True)
def test_fuzz_gives_pixels_or_a_bad_image(seed, changes, in_header, cut, colour):
    data = bytearray(SEEDS[seed])
    for place, value in changes:
        data[int(place * (min(len(data), 200 if in_header else len(data)) - 1))] = value
    if cut < 0.5:
        data = data[: int(2 * cut * len(data))]
    try:
        pixels = read_image(bytes(data), colour=colour, max_pixels=10_000_000)
    except BadImage:
        return
    assert pixels.dtype == np.uint8
    assert pixels.ndim == (3 if colour else 2)
    assert pixels.size
    assert pixels.flags.c_contiguous


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    magic=st.sampled_from(
        [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"II*\0", b"MM\0*", b"BM"]
    ),
    rest=st.binary(max_size=300),
)
def test_fuzz_of_noise_is_always_bad(magic, rest):
    with pytest.raises(BadImage):
        read_image(magic + rest)
