"""What a JPEG file says of itself before its pixels, and whether it is all there."""

from __future__ import annotations

from dataclasses import dataclass

_START_OF_SCAN = 0xDA
_END_OF_IMAGE = b"\xff\xd9"
_STANDALONE = {0x01, *range(0xD0, 0xD8)}
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True)
class JpegHeader:
    """Size and form of a JPEG image, and whether its end marker is there."""

    width: int
    height: int
    channels: int
    precision: int
    whole: bool


def read_jpeg_header(data: bytes) -> JpegHeader | None:
    """Walk the segments up to the first scan; None if they make no sense.

    The end marker is looked for after the start of the scan only, because the thumbnail in an EXIF
    segment has one of its own; inside a scan a byte 0xFF is never followed by 0xD9. What follows
    the end (a second picture, padding) does not matter.
    """
    frame: tuple[int, int, int, int] | None = None
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # padding before a marker
            at += 1
            continue
        if marker in _STANDALONE:
            at += 2
            continue
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if length < 2:
            return None
        if marker in _FRAMES and at + 10 <= len(data):
            height = int.from_bytes(data[at + 5 : at + 7], "big")
            width = int.from_bytes(data[at + 7 : at + 9], "big")
            frame = (width, height, data[at + 9], data[at + 4])
        if marker == _START_OF_SCAN:
            if frame is None:
                return None
            return JpegHeader(*frame, whole=data.find(_END_OF_IMAGE, at) >= 0)
        at += 2 + length
    # The file ends within its header: with a frame it is a cut JPEG, else it may be anything.
    return None if frame is None else JpegHeader(*frame, whole=False)
