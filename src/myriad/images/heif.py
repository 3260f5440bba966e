"""Images in the container of HEIF: HEIC by pillow-heif, AVIF by Pillow."""

from __future__ import annotations

from typing import Any

HEIC, AVIF = "HEIC", "AVIF"
_BRANDS = {
    HEIC: (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"),
    AVIF: (b"avif", b"avis"),
}


class UnsupportedFormat(Exception):
    """A file in this container that is not supported; the message says why."""


def find_heif_reader(data: bytes) -> tuple[str, type[Any]]:
    """Return the name of the format and the class that reads it.

    Raises `UnsupportedFormat` if there is none.

    Parameters
    ----------
    data : a file with ``ftyp`` at its fifth byte.
    """
    size = max(16, min(int.from_bytes(data[:4], "big"), 256))
    brands = [data[8:12], *(data[start : start + 4] for start in range(16, size, 4))]
    for form in (AVIF, HEIC):  # an AVIF names the brand mif1 as well
        if any(brand in _BRANDS[form] for brand in brands):
            return form, _load_reader(form)
    raise UnsupportedFormat("a video, whose frames predict and extract read with --every")


def _load_reader(form: str) -> type[Any]:
    """Return the class of a reader, which is imported when the first image needs it."""
    try:
        if form == AVIF:
            from PIL.AvifImagePlugin import SUPPORTED, AvifImageFile

            if SUPPORTED:
                return AvifImageFile
        else:
            from pillow_heif import HeifImageFile

            found: type[Any] = HeifImageFile
            return found
    except ImportError:
        pass
    if form == AVIF:
        raise UnsupportedFormat("AVIF, which the installed Pillow does not read: Pillow 11.3 does")
    raise UnsupportedFormat("HEIC, which needs pip install 'myriad-learn[heif]'")
