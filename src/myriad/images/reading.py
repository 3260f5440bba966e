"""Read one image of any common format, or raise `BadImage` with the reason why it is unusable.

JPEG is decoded by OpenCV, which is twice as fast as Pillow; all other formats by Pillow, which
supports more modes (palettes, transparency, CMYK) and finds more damage; HEIC by pillow-heif; TIFF
that Pillow does not support (colour in floats, 64 bits) by OpenCV again. Formats are recognised by
their first bytes, not by the name of the file.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)
from PIL.Image import DecompressionBombError
from PIL.ImageFile import ImageFile
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from myriad.arrays import Bytes
from myriad.errors import MyriadError
from myriad.images.heif import UnsupportedFormat, find_heif_reader
from myriad.images.jpeg import (
    END_OF_IMAGE,
    MAX_SCANS,
    JpegHeader,
    has_many_scans,
    is_truncated,
    read_jpeg_header,
)
from myriad.images.pillow_warnings import pillow_warnings_ignored
from myriad.images.pixels import fit_channels, flatten_image, make_upright, scale_to_bytes
from myriad.images.png import lacks_data

MAX_PIXELS = 100_000_000
MAX_WEBP_PIXELS = 50_000_000
"""Maximum pixels of a WebP, whose decoder takes 15 bytes for each; 34 bytes can state many."""
MAX_SIDE = 1_000_000
"""Maximum pixels per side: decoders keep a pointer for every line of pixels."""
MAX_FILE_BYTES = 512 * 2**20
_SPARE = 4  # a reduced image has at least this many times the pixels needed
_ORIENTATION = 0x0112
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"

_DEFLATE_RATIO = 1032
"""Maximum number of bytes that one compressed byte of a PNG can become."""

# Tags of TIFF.
_TIFF_WIDTH, _TIFF_HEIGHT, _TIFF_CHANNELS = 256, 257, 277
_TIFF_DATA = ((273, 279), (324, 325))  # offsets and byte counts of strips, of tiles

# Pillow's classes are called directly, because Image.open would also try dozens of rare formats
# (one of them starts Ghostscript) and has its own limit for decompression bombs.
_READERS: tuple[tuple[bytes, str, type[ImageFile]], ...] = (
    (b"\xff\xd8\xff", "JPEG", JpegImagePlugin.JpegImageFile),
    (b"\x89PNG\r\n\x1a\n", "PNG", PngImagePlugin.PngImageFile),
    (b"GIF87a", "GIF", GifImagePlugin.GifImageFile),
    (b"GIF89a", "GIF", GifImagePlugin.GifImageFile),
    (b"II*\0", "TIFF", TiffImagePlugin.TiffImageFile),
    (b"MM\0*", "TIFF", TiffImagePlugin.TiffImageFile),
    (b"RIFF", "WebP", WebPImagePlugin.WebPImageFile),
    (b"BM", "BMP", BmpImagePlugin.BmpImageFile),
)

_SILENT = 0
_set_log_level = getattr(cv2, "setLogLevel", None)  # where OpenCV 4 has it
if _set_log_level is None:
    _set_log_level = cv2.utils.logging.setLogLevel
_set_log_level(_SILENT)


class BadImage(MyriadError):
    """An image that cannot be used; `reason` is a short phrase such as "truncated JPEG"."""

    def __init__(self, reason: str, path: Path | None = None) -> None:
        super().__init__(reason if path is None else f"{path}: {reason}")
        self.reason = reason


def read_bytes(path: Path) -> bytes:
    """Return the content of an image file; `BadImage` if it cannot be read."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
            raise BadImage("not a file")
        refuse_large_file(status.st_size)
        with open(path, "rb") as stream:
            return stream.read(status.st_size)  # files of the kernel may have no end
    except FileNotFoundError:
        raise BadImage("missing file") from None
    except (OSError, ValueError) as error:
        detail = (
            os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "bad name"
        )
        raise BadImage(f"unreadable file ({detail.lower()})") from None


def refuse_large_file(n_bytes: int) -> None:
    """Raise `BadImage` for a file that is too large to be read into memory."""
    if n_bytes > MAX_FILE_BYTES:
        raise BadImage(f"{n_bytes} bytes, more than the limit of {MAX_FILE_BYTES}")


def read_image(
    source: Path | bytes,
    *,
    colour: bool = False,
    max_pixels: int = MAX_PIXELS,
    min_pixels: int | None = None,
) -> Bytes:
    """Read an image from a file or its bytes, rotated according to its EXIF orientation.

    Parameters
    ----------
    source : path of a file, or its content.
    colour : whether to return RGB instead of grey.
    max_pixels : larger images are refused before they are decoded.
    min_pixels : the number of pixels that is needed: a much larger JPEG is decoded at a half, a
        quarter or an eighth of its size if four times as many pixels remain.

    Returns
    -------
    uint8 array of shape (height, width), or (height, width, 3) with channels RGB.

    Raises
    ------
    BadImage : for every file that cannot be read, for any reason.
    """
    data = source if isinstance(source, bytes) else read_bytes(source)
    form, reader = find_reader(data)
    try:
        if form == "JPEG":
            pixels = _read_jpeg(data, colour, max_pixels, min_pixels)
            if pixels is not None:
                return pixels
        return _read_with_pillow(data, form, reader, colour, max_pixels)
    except BadImage:
        raise
    except MemoryError:
        raise BadImage(f"{form} too large for the memory") from None
    except DecompressionBombError:  # only if `max_pixels` is far above its default
        raise BadImage(f"{form} with more pixels than Pillow allows") from None
    except Exception as error:  # damaged files make decoders raise exceptions of nearly every kind
        reason = "truncated" if "truncated" in str(error).lower() else "damaged"
        raise BadImage(f"{reason} {form}") from None


def recognise_format(data: bytes) -> str:
    """Return the name of the format of an image, such as "JPEG"; `BadImage` if it is not read."""
    return find_reader(data)[0]


def find_reader(data: bytes) -> tuple[str, type[ImageFile]]:
    """Return the name and the Pillow class of the format, from the first bytes."""
    if not data:
        raise BadImage("empty file")
    refuse_large_file(len(data))
    for magic, form, reader in _READERS:
        if data.startswith(magic) and (form != "WebP" or data[8:12] == b"WEBP"):
            return form, reader
    if data[4:8] == b"ftyp":
        try:
            return find_heif_reader(data)
        except UnsupportedFormat as error:
            raise BadImage(str(error)) from None
    raise BadImage("not an image")


def _refuse_bomb(width: int, height: int, max_pixels: int) -> None:
    if width * height > max_pixels:
        raise BadImage(f"{width * height} pixels, more than the limit of {max_pixels}")
    if max(width, height) > MAX_SIDE:
        raise BadImage(f"a side of {max(width, height)} pixels, more than the limit of {MAX_SIDE}")


def _read_jpeg(data: bytes, colour: bool, max_pixels: int, min_pixels: int | None) -> Bytes | None:
    """Decode with OpenCV, or return None if Pillow should try.

    Some releases of OpenCV accept a truncated JPEG, so the end is checked here.
    """
    header = read_jpeg_header(data)
    if header is None:
        if END_OF_IMAGE not in data:
            raise BadImage("truncated JPEG")
        return None
    _refuse_bomb(header.width, header.height, max_pixels)
    if not header.complete:
        raise BadImage("truncated JPEG")
    if has_many_scans(data, header):
        raise BadImage(f"JPEG of more than {MAX_SCANS} scans")
    if header.channels not in (1, 3):
        return None
    flag = _jpeg_flag(header, colour, min_pixels)
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    if pixels is None:
        return None
    if is_truncated(data, header, pixels):
        raise BadImage("truncated JPEG")
    if colour:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
    return np.asarray(pixels, np.uint8)


def _jpeg_flag(header: JpegHeader, colour: bool, min_pixels: int | None) -> int:
    """Return the decoding flag of OpenCV; all of these apply the EXIF orientation."""
    kind = "COLOR" if colour else "GRAYSCALE"
    for factor in (8, 4, 2) if min_pixels is not None else ():
        left = (header.width // factor) * (header.height // factor)
        if left >= _SPARE * (min_pixels or 1):
            return int(getattr(cv2, f"IMREAD_REDUCED_{kind}_{factor}"))
    return int(getattr(cv2, f"IMREAD_{kind}"))


def _read_with_pillow(
    data: bytes, form: str, reader: type[ImageFile], colour: bool, max_pixels: int
) -> Bytes:
    """Decode with Pillow, apart from rare kinds of TIFF, and apply the EXIF orientation."""
    _refuse_truncated(data, form)
    with pillow_warnings_ignored():
        try:
            image = reader(io.BytesIO(data), "")
        except Exception:
            if form != "TIFF":
                raise
            return _read_rare_tiff(data, colour, max_pixels)
        most = min(max_pixels, MAX_WEBP_PIXELS) if form == "WebP" else max_pixels
        _refuse_bomb(*image.size, most)
        if form == "PNG" and image.size[0] * image.size[1] > 8 * _DEFLATE_RATIO * len(data):
            raise BadImage("truncated PNG")  # found before memory is allocated for all pixels
        image.load()
        if form == "PNG" and lacks_data(data, image):
            raise BadImage("truncated PNG")
        # Read after loading: Pillow rotates TIFF by itself and then removes the tag.
        pixels, orientation = flatten_image(image, colour=colour), _orientation_of(image)
        del image  # as large as the pixels, which may be copied
        return make_upright(pixels, orientation)


def _refuse_truncated(data: bytes, form: str) -> None:
    """Raise `BadImage` for truncated files that Pillow accepts or has no clear error for."""
    if form == "PNG":
        truncated = data.rfind(_PNG_END) < 0
    else:
        truncated = form == "WebP" and int.from_bytes(data[4:8], "little") + 8 > len(data)
    if truncated:
        raise BadImage(f"truncated {form}")


def _orientation_of(image: ImageFile) -> object:
    try:
        return image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF data do not affect the pixels
        return 1


def _read_rare_tiff(data: bytes, colour: bool, max_pixels: int) -> Bytes:
    """Decode a TIFF that Pillow does not support with OpenCV; its size is checked before."""
    tags = _read_tiff_tags(data)
    _refuse_bomb(int(tags[_TIFF_WIDTH]), int(tags[_TIFF_HEIGHT]), max_pixels)
    if not _is_tiff_complete(tags, len(data)):
        raise BadImage("truncated TIFF")
    pixels = _decode_tiff(data, tags, colour=colour)
    if pixels is None:
        raise BadImage("damaged or unsupported TIFF")
    return pixels


def _read_tiff_tags(data: bytes) -> dict[int, Any]:
    """Return the tags of the first picture of a TIFF file; any exception means damage."""
    directory = ImageFileDirectory_v2(data[:8])
    stream = io.BytesIO(data)
    stream.seek(directory.next)
    directory.load(stream)
    return dict(directory)


def _is_tiff_complete(tags: dict[int, Any], n_bytes: int) -> bool:
    """Return whether every strip or tile is within a file of `n_bytes`."""
    ends = [
        int(start) + int(count)
        for starts, counts in _TIFF_DATA
        for start, count in zip(tags.get(starts, ()), tags.get(counts, ()), strict=True)
    ]
    return bool(ends) and max(ends) <= n_bytes


def _decode_tiff(data: bytes, tags: dict[int, Any], *, colour: bool) -> Bytes | None:
    """Decode with OpenCV, which applies the orientation; None if it cannot."""
    if int(tags.get(_TIFF_CHANNELS, 1)) not in (1, 3, 4):
        return None
    values = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if values is None:
        return None
    if values.ndim == 3:
        values = np.ascontiguousarray(values[:, :, 2::-1])  # BGR(A) to RGB
    return fit_channels(scale_to_bytes(values), colour=colour)
