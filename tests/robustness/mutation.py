"""Mutations of files that keep their structure, so that they reach more than the first check.

Each function takes the content of a file and a source of random draws, and returns another content.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutate = Callable[[bytes, Random], bytes]
NUMBERS = [0, 1, -1, 2, 7, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, 2**64 - 1]
LEAVES: list[Any] = [
    None, True, False, *NUMBERS, 2**70, -(2**63), 0.5, -0.0, 1e-300, 1e300, 1e999, float("nan"), "",
    "a", "../x", "/etc/passwd", "x" * 5000, "\u0000", "\ud800", "é", [], {}, [0], [[]], {"": 0},
]  # fmt: skip
WORDS = [
    b"", b",", b'"', b"'", b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b" ", b"\t", b"nan",
    b"inf", b"-1", b"1e999", b"0x10", b"9" * 4400, b"a" * 70_000, b"../../etc/passwd", b":", b"=",
    b"/dev/zero", b"NULL", b"#", b";", b"\xf0\x9f\x98\x80", b"2147483648", b"18446744073709551616",
]  # fmt: skip


def mutate_bytes(content: bytes, draw: Random) -> bytes:
    """Flip, cut off, insert, repeat or overwrite some bytes."""
    data = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(6):
            case 0 if data:
                data[at % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = draw.choice(WORDS)
            case 3:
                data[at : at + draw.randrange(1, 64)] = b""
            case 4:
                form = draw.choice(["<I", ">I", "<H", ">H", "<Q", "<i"])
                size = struct.calcsize(form)
                number = draw.choice(NUMBERS) % 2 ** (8 * size - (form == "<i"))
                data[at : at + size] = struct.pack(form, number)
            case _:
                data[at:at] = data[at : at + draw.randrange(1, 200)] * draw.randrange(1, 4)
    return bytes(data)


def mutate_text(content: bytes, draw: Random) -> bytes:
    """Change lines and words of a text; now and then bytes.

    Most words are replaced by others of the text: the number of lines and columns stays.
    """
    if draw.randrange(12) == 0:
        return mutate_bytes(content, draw)
    lines = content.split(b"\n")
    for _ in range(draw.randrange(1, 4)):
        at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        match draw.randrange(10):
            case 0:
                del lines[at]
                lines = lines or [b""]
            case 1:
                lines.insert(at, lines[other])
            case 2:
                lines.insert(at, draw.choice(WORDS))
            case 3:
                lines[at] = lines[at] + draw.choice(WORDS)
            case 4:
                lines[at], lines[other] = lines[other], lines[at]
            case kind:
                words = _split_words(lines[at])
                known = WORDS if kind < 7 else _split_words(lines[other])[::2]
                words[2 * draw.randrange((len(words) + 1) // 2)] = draw.choice(known)
                lines[at] = b"".join(words)
    return b"\n".join(lines)


def _split_words(line: bytes) -> list[bytes]:
    """Return the words of a line, with what is between them."""
    return re.split(rb"([,: ])", line)


def change_json(value: Any, draw: Random, strings: Sequence[str] = ()) -> Any:
    """Return a JSON value with one value in it changed, removed or repeated.

    Parameters
    ----------
    strings : of the whole file, by which half of the changed ones are replaced.
    """
    if isinstance(value, dict) and value and draw.randrange(20):
        key = draw.choice(sorted(value))
        match draw.randrange(8):
            case 0:
                return {name: found for name, found in value.items() if name != key}
            case 1:
                return {**value, key: value[draw.choice(sorted(value))]}
        return {**value, key: change_json(value[key], draw, strings)}
    if isinstance(value, list) and value and draw.randrange(20):
        at = draw.randrange(len(value))
        match draw.randrange(8):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value + value[at : at + 1] * draw.choice([1, 3, 1000])
        return [*value[:at], change_json(value[at], draw, strings), *value[at + 1 :]]
    if isinstance(value, str) and strings and draw.randrange(2):
        return draw.choice(strings)
    if isinstance(value, int | float) and not isinstance(value, bool) and draw.randrange(2):
        return draw.choice([value + 1, value - 1, -value, value * 2, value * 1_000_000])
    return draw.choice(LEAVES)


def mutate_json(content: bytes, draw: Random) -> bytes:
    """Change some values of a JSON file; now and then its bytes."""
    if draw.randrange(20) == 0:
        return mutate_bytes(content, draw)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return mutate_bytes(content, draw)
    strings = [text.decode() for text in re.findall(rb'"([\w. -]{1,40})"', content)]
    for _ in range(draw.randrange(1, 4)):
        value = change_json(value, draw, strings)
    return json.dumps(value).encode()


def mutate_json_lines(content: bytes, draw: Random) -> bytes:
    """Change the JSON of some lines, or the lines; now and then the bytes."""
    if draw.randrange(8) == 0:
        return mutate_text(content, draw)
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    lines[at] = mutate_json(lines[at], draw)
    return b"\n".join(lines)


def mutate_safetensors(content: bytes, draw: Random) -> bytes:
    """Change the header of a safetensors file, its length or the arrays."""
    (size,) = struct.unpack("<Q", content[:8]) if len(content) >= 8 else (0,)
    if size > len(content) or draw.randrange(6) == 0:
        return mutate_bytes(content, draw)
    header, body = mutate_json(content[8 : 8 + size], draw), content[8 + size :]
    if draw.randrange(4) == 0:
        body = mutate_bytes(body, draw)
    length = draw.choice(NUMBERS) if draw.randrange(8) == 0 else len(header)
    return struct.pack("<Q", length % 2**64) + header + body


def mutate_npy(content: bytes, draw: Random) -> bytes:
    """Change the header of a .npy file, or its values."""
    if not content.startswith(b"\x93NUMPY") or draw.randrange(10) == 0:
        return mutate_bytes(content, draw)
    start = 10 if content[6:7] == b"\1" else 12
    (size,) = struct.unpack("<H" if start == 10 else "<I", content[8:start])
    size = min(size, len(content))  # one that was changed would make a header of gigabytes
    header, body = content[start : start + size], content[start + size :]
    for _ in range(draw.randrange(1, 3)):
        pattern, words = draw.choice(
            [
                (rb"\d+", [str(number).encode() for number in NUMBERS]),
                (rb"'descr': [^,]*", [b"'descr': '%s'" % kind for kind in KINDS]),
                (rb"\([^)]*\)", [b"()", b"(1,)", b"(0, 0)", b"(-1, 4)", b"(2, 3, 4)", b"(None,)"]),
                (rb"False|True", [b"True", b"1", b"__import__('os')"]),
            ]
        )
        header = re.sub(pattern, lambda found, words=words: draw.choice(words), header, count=1)
    header = header.rstrip(b" \n").ljust(size - 1)[: max(size - 1, 0)] + b"\n"
    return content[:start] + header + body


KINDS = [b"<f4", b"<f8", b"<f2", b">f4", b"|O", b"<U4", b"<M8[s]", b"|b1", b"<c8", b"|V8", b"<i8"]


def mutate_zip(content: bytes, draw: Random, inner: Mutate = mutate_npy) -> bytes:
    """Change a member of an archive or its name, with a checksum that is right; or the bytes."""
    members = _read_zip(content)
    if not members or draw.randrange(10) == 0:
        return mutate_bytes(content, draw)
    stream = io.BytesIO()
    chosen = draw.choice(sorted(members))
    kind = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, member in members.items():
            if name == chosen and draw.randrange(4) == 0:
                name = draw.choice(["../x.png", "/x.png", "x" * 300 + ".png", "a/\ud7ff.npy"])
            archive.writestr(name, inner(member, draw) if name == chosen else member)
    return stream.getvalue()


@functools.lru_cache(maxsize=512)
def _read_zip(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive; none if it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (ValueError, NotImplementedError, zipfile.BadZipFile, OSError, RuntimeError, zlib.error):
        return {}


def mutate_images_zip(content: bytes, draw: Random) -> bytes:
    """Change an archive of images."""
    return mutate_zip(content, draw, mutate_png)


def mutate_tar(content: bytes, draw: Random) -> bytes:
    """Change a member of a tar archive, a header with a checksum that is right, or the bytes."""
    if draw.randrange(10) == 0 or len(content) < 1024:
        return mutate_bytes(content, draw)
    if draw.randrange(2):
        return _change_member(content, draw)
    starts = [
        at for at in range(0, len(content) - 512, 512) if content[at + 257 : at + 262] == b"ustar"
    ]
    if not starts:
        return mutate_bytes(content, draw)
    at = draw.choice(starts)
    header = bytearray(content[at : at + 512])
    first, length = draw.choice([(0, 100), (124, 12), (156, 1), (157, 100), (345, 155)])
    value = draw.choice([*WORDS, b"77777777777", b"L", b"x", b"g", b"2", b"5", b"\x80" + bytes(11)])
    header[first : first + length] = value[:length].ljust(length, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return content[:at] + bytes(header) + content[at + 512 :]


def _change_member(content: bytes, draw: Random) -> bytes:
    """Change the content, the name or the extended header of a member of a tar archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            members = [(one, (archive.extractfile(one) or io.BytesIO()).read()) for one in archive]
    except (
        tarfile.TarError,
        ValueError,
        OSError,
        EOFError,
        KeyError,
        RecursionError,
        OverflowError,
    ):
        members = []
    if not members:
        return mutate_bytes(content, draw)
    chosen = draw.randrange(len(members))
    entry, data = members[chosen]
    match draw.randrange(6):
        case 0:
            entry.name = draw.choice(["../x.png", "/x", "x" * 300 + ".png", "é\udcff.png", "b/"])
        case 1:
            key = draw.choice(["path", "size", "linkpath", "GNU.sparse.map", "GNU.sparse.major"])
            entry.pax_headers = {key: draw.choice(["", "0", "-1", "9" * 30, "a,b", "../x", "1.0"])}
        case 2:
            members.insert(draw.randrange(len(members)), members[chosen])
        case _:
            inner = {".png": mutate_png, ".json": mutate_json}.get(entry.name[-4:], mutate_text)
            data = inner(data, draw)
            members[chosen] = (entry, data)
    stream = io.BytesIO()
    kind = draw.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    try:
        with tarfile.open(fileobj=stream, mode="w", format=kind) as archive:
            for entry, data in members:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    except (ValueError, OSError, UnicodeError):
        return mutate_bytes(content, draw)
    return stream.getvalue()


def mutate_png(content: bytes, draw: Random) -> bytes:
    """Change a chunk of a PNG file, with a checksum that is right; or the bytes."""
    if draw.randrange(10) == 0 or not content.startswith(b"\x89PNG"):
        return mutate_bytes(content, draw)
    chunks, at = [], 8
    while at + 12 <= len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        chunks.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += 12 + size
    if not chunks:
        return mutate_bytes(content, draw)
    chosen = draw.randrange(len(chunks))
    name, data = chunks[chosen]
    match draw.randrange(8):
        case 0:
            draw.shuffle(chunks)
        case 1:
            del chunks[chosen]
        case 2:
            more = bytes(draw.randrange(256) for _ in range(draw.choice([0, 1, 2, 6, 26, 768])))
            chunks.insert(draw.randrange(len(chunks)), (draw.choice(PNG_CHUNKS), more))
        case _:
            chunks[chosen] = (name, _change_chunk(name, data, draw)[: 1 << 20])
    parts = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    ]
    return content[:8] + b"".join(parts)


PNG_CHUNKS = [
    b"PLTE", b"tRNS", b"gAMA", b"iCCP", b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"acTL", b"fcTL",
    b"fdAT", b"sBIT", b"pHYs", b"IDAT", b"IEND", b"IHDR", b"cHRM", b"sRGB", b"XXXX",
]  # fmt: skip


def _change_chunk(name: bytes, data: bytes, draw: Random) -> bytes:
    """Change a field of a header, the pixels before they are compressed, or the bytes."""
    if name == b"IHDR" and len(data) == 13 and draw.randrange(4):
        fields = list(struct.unpack(">IIBBBBB", data))
        at = draw.choice([0, 1, 2, 3, 6])
        fields[at] = draw.choice([NUMBERS, NUMBERS, [1, 2, 4, 8, 16], range(8), (), (), [0, 1]][at])
        fields[at] %= 2**32 if at < 2 else 256
        return struct.pack(">IIBBBBB", *fields)
    if name == b"IDAT" and draw.randrange(4):
        with contextlib.suppress(zlib.error):
            pixels = zlib.decompressobj().decompress(data, 1 << 20)
            return zlib.compress(mutate_bytes(pixels, draw), 1)
    return mutate_bytes(data, draw)


def pack_tar(members: dict[str, bytes]) -> bytes:
    """Return a tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def pack_zip(members: dict[str, bytes]) -> bytes:
    """Return a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()
