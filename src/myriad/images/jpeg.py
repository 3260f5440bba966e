"""The headers of JPEG files, and whether a file is complete."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import JpegImagePlugin

from myriad.images.pillow_warnings import pillow_warnings_ignored

END_OF_IMAGE = b"\xff\xd9"  # of JPEG
MAX_SCANS = 50
"""Maximum number of scans: each of them, of 141 bytes, can take a decoder 40 ms. Others have 12."""
_END, _SCAN, _FILL = 0xD9, 0xDA, 0xFF
"""Second bytes of markers; a marker can be filled up with 0xFF."""
_MISSING_JPEG, _NEAR = 128, 2
"""The grey of pixels for which a JPEG has no data, and how far colours that are interpolated may be
from it."""
_GREY_OF_BGR = (0.114, 0.587, 0.299)
_BLOCK, _LARGEST_BLOCK = 8, 16
"""Pixels of a side that are coded together, without subsampled colours and with them."""
_LARGE = 4_000_000
"""Pixels above which images are decoded at a smaller size to find out whether they are complete."""
_OTHER_SCAN = bytes(1 + i * 89 % 254 for i in range(128))
"""Data of a scan that decode to some pixels; no byte of them starts a marker."""
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7]")
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")


@dataclass(frozen=True)
class JpegHeader:
    """The header of a JPEG image of 8 bits per channel.

    Attributes
    ----------
    scan : where the data of the first scan start.
    complete : whether there is an end marker after them.
    """

    width: int
    height: int
    channels: int
    scan: int = field(compare=False)
    complete: bool


def read_jpeg_header(data: bytes) -> JpegHeader | None:
    """Read the segments up to the first scan; return None if they are not valid.

    The end marker is searched after the start of the scan only, because the thumbnail in an EXIF
    segment has its own; within a scan a byte 0xFF is never followed by 0xD9. Data after the end
    (a second picture, padding) do not matter.
    """
    stream = io.BytesIO(data)
    try:
        with pillow_warnings_ignored():
            image = JpegImagePlugin.JpegImageFile(stream, "")
    except Exception:  # damaged headers make it raise exceptions of nearly every kind
        return None
    scan = stream.tell()
    return JpegHeader(*image.size, image.layers, scan, data.find(END_OF_IMAGE, scan) >= 0)


def has_many_scans(data: bytes, header: JpegHeader) -> bool:
    """Return whether there are more than `MAX_SCANS`, of which progressive images have several."""
    n_scans, at = 1, header.scan
    while n_scans <= MAX_SCANS and (found := _SCAN_END.search(data, at)):
        marker, at = data[found.start() + 1], found.end()
        if marker == _END:
            break
        if marker == _FILL:
            at -= 1
            continue
        n_scans += marker == _SCAN
        at += max(2, int.from_bytes(data[at : at + 2], "big"))  # the segment
    return n_scans > MAX_SCANS


def is_truncated(data: bytes, header: JpegHeader, pixels: Any) -> bool:
    """Return whether a decoded image has pixels for which there were no data."""
    return _may_lack_data(data, header, pixels) and _lacks_data(data, header.scan)


def _may_lack_data(data: bytes, header: JpegHeader, pixels: Any) -> bool:
    """Return whether the last pixels look as if there were no data for them.

    Decoders do not say so, and make what is missing grey, except for the first block of it. So an
    image that is one block wide or high is always in doubt.
    """
    if min(header.width, header.height) <= _LARGEST_BLOCK:
        return True
    if data.find(b"Exif\0", 0, header.scan) < 0:  # not rotated
        height, width = ((side - 1) % _BLOCK + 1 for side in (header.height, header.width))
        factor = max(1, round(max(header.height, header.width) / max(pixels.shape[:2])))
        last = pixels[-max(1, height // factor) :, -max(1, width // factor) :]
        corners = [last.reshape(last.shape[0] * last.shape[1], -1)]
    else:
        corners = [pixels[i, j].reshape(1, -1) for i in (0, -1) for j in (0, -1)]
    greys = (one @ _GREY_OF_BGR if one.shape[1] == 3 else one[:, 0] + 0.0 for one in corners)
    return any(bool((abs(grey - _MISSING_JPEG) <= _NEAR).all()) for grey in greys)


def _lacks_data(data: bytes, scan: int) -> bool:
    """Return whether the first scan ends before the last pixel, as with a size that is too large.

    The image is decoded again with more data at the end of the scan: a complete one stays the same.
    Large images are decoded at an eighth of their size, as there are three of them.
    """
    found = _SCAN_END.search(data, scan)
    end = found.start() if found else len(data)
    restarts = _RESTART.findall(data, scan, end)
    marker = bytes([0xFF, 0xD0 + (restarts[-1][1] + 1) % 8]) if restarts else b""
    longer = (
        data[:end] + other + marker + other + data[end:]
        for other in (_OTHER_SCAN, _OTHER_SCAN[::-1])  # pixels that are clipped may hide one
    )
    with pillow_warnings_ignored():
        first, *others = map(_decode_quickly, (data, *longer))
    return not all(np.array_equal(first, one) for one in others)


def _decode_quickly(data: bytes) -> Any:
    """Return the pixels of an image; of a large one, the means of its blocks."""
    image = JpegImagePlugin.JpegImageFile(io.BytesIO(data), "")
    if image.width * image.height > _LARGE:
        image.draft(None, (image.width // _BLOCK, image.height // _BLOCK))
    return np.asarray(image)
