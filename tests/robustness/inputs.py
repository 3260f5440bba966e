"""Inputs of tests: folders of images, bad images, and damage of files."""

from __future__ import annotations

import functools
import io
import shutil
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from myriad.images import choose_glyphs, draw_glyph

_GLYPHS = choose_glyphs(10)


@functools.cache
def picture(label: int, number: int, form: str = "PNG") -> bytes:
    """Return the file of a drawn character."""
    stream = io.BytesIO()
    Image.fromarray(draw_glyph(_GLYPHS, label, number, seed=0, size=48)).save(stream, form)
    return stream.getvalue()


def write_images(
    folder: Path, classes: Sequence[str] = ("ant", "bee", "cow"), n: int = 6, first: int = 0
) -> None:
    """Write a folder of `n` images per class; the first class shows the character `first`."""
    for label, name in enumerate(classes, start=first):
        (folder / name).mkdir(parents=True)
        for number in range(n):
            (folder / name / f"{number}.png").write_bytes(picture(label % 10, number))


def write_manifest(path: Path, lines: Sequence[str], header: str = "path,label") -> None:
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def bomb() -> bytes:
    """Return a PNG of 60,000 x 60,000 pixels in some hundred bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    ends = chunk(b"IDAT", zlib.compress(bytes(10_000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + ends


def bad_images() -> dict[str, tuple[bytes, str]]:
    """Return bad images by file name, each with the reason that is reported."""
    jpeg = picture(0, 0, "JPEG")
    return {
        "cut.jpg": (jpeg[: len(jpeg) // 2], "truncated JPEG"),
        "cut.png": (picture(0, 0)[:-20], "truncated PNG"),
        "zero.png": (b"", "empty file"),
        "text.jpg": (b"Dear Sir or Madam,\n", "not an image"),
        "bomb.png": (bomb(), "pixels, more than the limit"),
        "page.gif": (b"<html><script>alert(1)</script></html>", "not an image"),
    }


def flip_bit(path: Path, position: int = -50) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def truncate(path: Path, share: float = 0.5) -> None:
    """Keep the first part of a file, of this share of its bytes."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, by path.

    Files of the kernel, which have no size, are not read: some have no end.
    """
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.stat().st_size else b""
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
