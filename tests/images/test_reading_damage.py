from __future__ import annotations

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
from PIL import Image, PngImagePlugin

from myriad.errors import MyriadError
from myriad.images.reading import MAX_FILE_BYTES, BadImage, read_bytes, read_image
from tests.images.pictures import colour_picture, encode, encode_float_tiff, grey_picture

RGB = colour_picture()
GREY = grey_picture()


def reason_of(data) -> str:
    with pytest.raises(BadImage) as caught:
        read_image(data)
    assert isinstance(caught.value, MyriadError)
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


def resize_jpeg(data, height_and_width) -> bytes:
    """Return a JPEG file whose header states another size."""
    frame = max(data.find(marker) for marker in (b"\xff\xc0", b"\xff\xc2"))
    return data[: frame + 5] + struct.pack(">HH", *height_and_width) + data[frame + 9 :]


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

    def test_a_cut_jpeg_is_found_where_the_decoder_takes_it_for_good(self, monkeypatch):
        monkeypatch.setattr(cv2, "imdecode", lambda data, flag: np.zeros((120, 160), np.uint8))
        data = encode(colour_picture(120, 160), "JPEG")
        assert read_image(data).shape == (120, 160)
        assert reason_of(data[: len(data) // 2]) == "truncated JPEG"

    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
    @pytest.mark.parametrize("colour", [False, True])
    @pytest.mark.parametrize("side", [0, 1])
    def test_jpeg_with_an_enlarged_size(self, options, colour, side):
        data = bytearray(encode(RGB if colour else GREY, "JPEG", **options))
        frame = data.index(b"\xff\xc2" if "progressive" in options else b"\xff\xc0")
        height_and_width = list(struct.unpack_from(">HH", data, frame + 5))
        height_and_width[side] *= 2
        struct.pack_into(">HH", data, frame + 5, *height_and_width)
        for min_pixels in (None, 8):
            with pytest.raises(BadImage, match="truncated JPEG"):
                read_image(bytes(data), colour=colour, min_pixels=min_pixels)

    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
    @pytest.mark.parametrize("subsampling", [0, 1, 2])
    @pytest.mark.parametrize("shape", [(8, 8), (40, 8), (40, 40), (33, 65)])
    def test_jpeg_whose_size_is_a_little_too_large(self, options, subsampling, shape):
        unit = np.array([16 if subsampling == 2 else 8, 16 if subsampling else 8])
        data = encode(colour_picture(*shape), "JPEG", subsampling=subsampling, **options)
        coded = -(-np.array(shape) // unit) * unit
        # As large as the data, which have whole blocks: nothing is missing.
        assert read_image(resize_jpeg(data, coded)).shape == tuple(coded)
        for more in ((1, 0), (0, 1), (1, 1), (16, 0), (3, 40)):
            larger = resize_jpeg(data, coded + more)
            for colour in (False, True):
                with pytest.raises(BadImage, match="truncated JPEG"):
                    read_image(larger, colour=colour)

    @pytest.mark.parametrize("quality", [1, 30, 75, 95, 100])
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"optimize": True},
            {"progressive": True},
            {"subsampling": 0},
            {"subsampling": 1},
            {"restart_marker_rows": 1},
            {"exif": b"Exif\0\0" + encode(colour_picture(16, 16), "JPEG")},
            {"comment": b"\xff\xd9" * 5},
        ],
    )
    def test_complete_jpeg_files_are_good(self, quality, options):
        for shape in ((3, 5), (16, 16), (17, 33), (64, 48)):
            picture = colour_picture(*shape)
            picture[-8:, -8:] = 128  # in doubt, as missing data look the same
            image = Image.fromarray(picture)
            for mode in ("RGB", "L", "CMYK"):
                data = encode(image.convert(mode), "JPEG", quality=quality, **options)
                for end in (b"", b"\0" * 9, b"after the end" + encode(GREY, "JPEG")):
                    assert read_image(data + end, colour=mode == "RGB").shape[:2] == shape

    def test_complete_jpeg_files_of_opencv_are_good(self):
        picture = np.full((40, 50, 3), 128, np.uint8)
        flags = (cv2.IMWRITE_JPEG_OPTIMIZE, cv2.IMWRITE_JPEG_PROGRESSIVE)
        for flag in flags:
            data = cv2.imencode(".jpg", picture, [flag, 1])[1].tobytes()
            assert read_image(data).shape == (40, 50)

    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
    @pytest.mark.parametrize("shape", [(8, 8), (9, 70), (70, 9)])
    def test_a_complete_grey_jpeg_is_good(self, options, shape):
        grey = np.full(shape, 128, np.uint8)
        np.testing.assert_array_equal(read_image(encode(grey, "JPEG", **options)), grey)

    @pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
    @pytest.mark.parametrize("colour", [False, True])
    def test_large_jpeg_files(self, options, colour):
        """They are decoded at a smaller size to find out whether they are complete."""
        picture = np.full((2048, 2064, 3) if colour else (2048, 2064), 128, np.uint8)
        picture[:64, :64] = (colour_picture if colour else grey_picture)(64, 64)
        data = encode(picture, "JPEG", quality=30, **options)
        assert read_image(data, colour=colour).shape == picture.shape
        for more in ((1, 0), (0, 1), (16, 40)):
            larger = resize_jpeg(data, np.add(picture.shape[:2], more))
            with pytest.raises(BadImage, match="truncated JPEG"):
                read_image(larger, colour=colour)

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
        data = encode_float_tiff(RGB.astype(np.float32) / 255.0)
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
    @pytest.mark.parametrize(
        ("width", "height", "reason"),
        [
            (50_000, 50_000, "2500000000 pixels, more than the limit of 100000000"),
            (2, 49_000_000, "a side of 49000000 pixels, more than the limit of 1000000"),
            (900_000, 100, "truncated PNG"),
        ],
    )
    def test_png_header(self, width, height, reason, monkeypatch):
        monkeypatch.setattr(
            PngImagePlugin.PngImageFile, "load", lambda image: pytest.fail("loaded")
        )
        header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
        body = b"IHDR" + header
        end = b"\0\0\0\0IEND\xaeB`\x82"
        data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body
        data += struct.pack(">I", zlib.crc32(body))
        scan = b"IDAT" + zlib.compress(bytes(1000))
        data += struct.pack(">I", len(scan) - 4) + scan + struct.pack(">I", zlib.crc32(scan)) + end
        assert reason_of(data) == reason

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

    def test_jpeg_with_a_frame_just_below_the_limit(self, tmp_path):
        """A small file is decoded with less than 600 MB; it took 1.3 GB."""
        (tmp_path / "a.jpg").write_bytes(resize_jpeg(encode(RGB, "JPEG"), (9000, 9000)))
        script = (
            "import pathlib, resource, sys\n"
            "from myriad.images.reading import read_image, BadImage\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "try: read_image(pathlib.Path(sys.argv[1]), colour=True)\n"
            "except BadImage as error: print(error)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "a.jpg")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        reason, kilobytes = done.stdout.splitlines()
        assert reason == "truncated JPEG"
        assert int(kilobytes) < 600_000

    @pytest.mark.parametrize("mode", ["RGB", "CMYK"])
    def test_jpeg_of_many_scans(self, mode):
        """Decoders read every scan into the whole image: a file of 1 MB took minutes."""
        data = encode(Image.fromarray(RGB).convert(mode), "JPEG", progressive=True)
        last = data.rindex(b"\xff\xda")
        scan, comment = data[last:-2], b"\xff\xfe\x00\x06\xff\xd9\xff\xd9"
        for n, hidden in ((20, b""), (20, comment)):
            assert read_image(data[:-2] + hidden + n * scan + data[-2:]).shape == RGB.shape[:2]
        after = data + 60 * scan  # not read by decoders
        assert read_image(after).shape == RGB.shape[:2]
        for hidden in (b"", comment, b"\xff" * 5):
            bomb = data[:-2] + hidden + 60 * scan + data[-2:]
            assert reason_of(bomb) == "JPEG of more than 50 scans"

    def test_webp_of_many_pixels(self):
        """A file of 34 bytes took 2 GB."""
        data = encode(np.zeros((8000, 8000), np.uint8), "WEBP", lossless=True, method=0)
        assert len(data) < 1000
        assert reason_of(data) == "64000000 pixels, more than the limit of 50000000"

    def test_rare_tiff(self):
        data = encode_float_tiff(RGB.astype(np.float32) / 255.0)
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
        rare = encode_float_tiff(RGB.astype(np.float32))
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
    encode_float_tiff(RGB.astype(np.float32)),
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
    for position, value in changes:
        data[int(position * (min(len(data), 200 if in_header else len(data)) - 1))] = value
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
