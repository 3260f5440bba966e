"""Read one image, of any common format and form, or say in a clause why it cannot be read.

JPEG goes to OpenCV, which is twice as fast as Pillow; everything else goes to Pillow, which knows
more forms (palettes, transparency, CMYK) and is stricter about damage; TIFF that Pillow does not
know goes to OpenCV again. Formats are told by their first bytes, never by the name of the file.
"""

from __future__ import annotations

import io
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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

from myriad.arrays import Bytes
from myriad.errors import MyriadError
from myriad.images.jpeg import JpegHeader, read_jpeg_header
from myriad.images.pixels import flatten_image, turn_upright
from myriad.images.tiff import count_tiff_pixels, decode_tiff, is_tiff_whole, read_tiff_tags

MAX_PIXELS = 100_000_000
MAX_FILE_BYTES = 512 * 2**20
_SPARE = 4  # a reduced image keeps this many times the pixels that are wanted
_ORIENTATION = 0x0112
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"

# Pillow's classes are called one by one rather than through Image.open, which would also try
# dozens of rare formats (one of them starts Ghostscript) and warn of bombs by its own measure.
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
    """An image that cannot be used; `reason` is one clause, such as "truncated JPEG"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_bytes(path: Path) -> bytes:
    """Return the content of an image file; `BadImage` if there is none to be had."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise BadImage("not a file")
        refuse_large_file(status.st_size)
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        raise BadImage("missing file") from None
    except (OSError, ValueError) as error:
        detail = (
            os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "bad name"
        )
        raise BadImage(f"unreadable file ({detail.lower()})") from None


def refuse_large_file(n_bytes: int) -> None:
    """Raise `BadImage` for a file too large to be taken into memory."""
    if n_bytes > MAX_FILE_BYTES:
        raise BadImage(f"{n_bytes} bytes, more than the limit of {MAX_FILE_BYTES}")


def read_image(
    source: Path | bytes,
    *,
    colour: bool = False,
    max_pixels: int = MAX_PIXELS,
    min_pixels: int | None = None,
) -> Bytes:
    """Read an image from a file or from the bytes of one, upright as its EXIF data say.

    Parameters
    ----------
    source : path of a file, or its content.
    colour : whether RGB is wanted rather than grey.
    max_pixels : an image that states more is refused before memory is taken for it.
    min_pixels : if only about so many pixels are needed, a far larger JPEG is decoded at a half, a
        quarter or an eighth of its size, so long as four times as many remain.

    Returns
    -------
    uint8 array of shape (height, width), or (height, width, 3) in the order RGB.

    Raises
    ------
    BadImage : for every file that cannot be read, whatever is wrong with it.
    """
    data = source if isinstance(source, bytes) else read_bytes(source)
    form, reader = _recognise(data)
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
    except DecompressionBombError:  # only where `max_pixels` is far above its default
        raise BadImage(f"{form} with more pixels than Pillow allows") from None
    except Exception as error:  # decoders raise nearly every kind of exception on damaged files
        reason = "truncated" if "truncated" in str(error).lower() else "damaged"
        raise BadImage(f"{reason} {form}") from None


def _recognise(data: bytes) -> tuple[str, type[ImageFile]]:
    """Return the format's name and Pillow's reader of it, by the first bytes."""
    if not data:
        raise BadImage("empty file")
    refuse_large_file(len(data))
    for magic, form, reader in _READERS:
        if data.startswith(magic) and (form != "WebP" or data[8:12] == b"WEBP"):
            return form, reader
    if data[4:8] == b"ftyp":
        raise BadImage("HEIC, AVIF or a video, which are not read (JPEG, PNG and WebP are)")
    raise BadImage("not an image")


def _refuse_bomb(n_pixels: int, max_pixels: int) -> None:
    if n_pixels > max_pixels:
        raise BadImage(f"{n_pixels} pixels, more than the limit of {max_pixels}")


def _read_jpeg(data: bytes, colour: bool, max_pixels: int, min_pixels: int | None) -> Bytes | None:
    """Decode with OpenCV, or return None where Pillow should try.

    OpenCV takes a cut JPEG for a good one in some releases, so the end is looked for here.
    """
    header = read_jpeg_header(data)
    if header is None:
        return None
    _refuse_bomb(header.width * header.height, max_pixels)
    if not header.whole:
        raise BadImage("truncated JPEG")
    if header.precision != 8 or header.channels not in (1, 3):
        return None
    flag = _jpeg_flag(header, colour, min_pixels)
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    if pixels is None:
        return None
    if colour:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
    return np.asarray(pixels, np.uint8)


def _jpeg_flag(header: JpegHeader, colour: bool, min_pixels: int | None) -> int:
    """Return how OpenCV should decode: all of these flags heed the EXIF orientation."""
    kind = "COLOR" if colour else "GRAYSCALE"
    for factor in (8, 4, 2) if min_pixels is not None else ():
        left = (header.width // factor) * (header.height // factor)
        if left >= _SPARE * (min_pixels or 1):
            return int(getattr(cv2, f"IMREAD_REDUCED_{kind}_{factor}"))
    return int(getattr(cv2, f"IMREAD_{kind}"))


def _read_with_pillow(
    data: bytes, form: str, reader: type[ImageFile], colour: bool, max_pixels: int
) -> Bytes:
    _refuse_cut_file(data, form)
    with _pillow_kept_quiet():
        try:
            image = reader(io.BytesIO(data), "")
        except Exception:
            if form != "TIFF":
                raise
            return _read_rare_tiff(data, colour, max_pixels)
        _refuse_bomb(image.size[0] * image.size[1], max_pixels)
        image.load()
        # Taken after loading: Pillow turns TIFF upright itself and then drops the tag.
        pixels = flatten_image(image, colour=colour)
        return turn_upright(pixels, _orientation_of(image))


def _refuse_cut_file(data: bytes, form: str) -> None:
    """Find the cuts that Pillow forgives or has no clear word for."""
    if form == "PNG":
        cut = data.rfind(_PNG_END) < 0
    else:
        cut = form == "WebP" and int.from_bytes(data[4:8], "little") + 8 > len(data)
    if cut:
        raise BadImage(f"truncated {form}")


def _orientation_of(image: ImageFile) -> object:
    try:
        return image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF data do not make the pixels bad
        return 1


def _read_rare_tiff(data: bytes, colour: bool, max_pixels: int) -> Bytes:
    tags = read_tiff_tags(data)
    _refuse_bomb(count_tiff_pixels(tags), max_pixels)
    if not is_tiff_whole(tags, len(data)):
        raise BadImage("truncated TIFF")
    pixels = decode_tiff(data, tags, colour=colour)
    if pixels is None:
        raise BadImage("damaged TIFF, or one of a form that is not read")
    return pixels


_quiet_lock = threading.Lock()
_quiet_readers = 0
_quiet_filters = warnings.catch_warnings()


@contextmanager
def _pillow_kept_quiet() -> Iterator[None]:
    """Keep Pillow's warnings (odd EXIF data, large GIF) from the user: what matters is an error.

    `catch_warnings` alone is not safe in threads, because each puts back the filters that it found:
    here the first reader to enter sets them and the last one to leave puts them back.
    """
    global _quiet_readers, _quiet_filters
    with _quiet_lock:
        if _quiet_readers == 0:
            _quiet_filters = warnings.catch_warnings()
            _quiet_filters.__enter__()
            warnings.filterwarnings("ignore", module=r"PIL(\.|$)")
        _quiet_readers += 1
    try:
        yield
    finally:
        with _quiet_lock:
            _quiet_readers -= 1
            if _quiet_readers == 0:
                _quiet_filters.__exit__(None, None, None)
