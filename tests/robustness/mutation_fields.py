"""Mutations of binary formats that consist of fields: protobuf, pickle, JPEG, TIFF and headers.

Each function takes the content of a file and a source of random draws, and returns another content.
"""

from __future__ import annotations

import pickletools
import struct
from random import Random

from tests.robustness.mutation import NUMBERS, WORDS, mutate_bytes

_FRONT = 64
_OPERATIONS = [
    b"0",
    b"1",
    b"2",
    b"(",
    b")",
    b"}",
    b"]",
    b"N",
    b"b",
    b"R",
    b"Q",
    b"t",
    b"e",
    b"u",
    b".",
]
"""Operations of a pickle without an argument: to pop, to build, to call and others."""
_FRAMES = (b"\xff\xc0", b"\xff\xc1", b"\xff\xc2")
"""Markers of the segments of a JPEG file that state its height and width."""
_SIDES = (1, 2, 7, 8, 9, 16, 17, 1000, 9999, 65535)
"""Heights and widths of a JPEG, the products of some of which are just allowed."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def mutate_front(content: bytes, draw: Random) -> bytes:
    """Overwrite a number at the start of a file, where its sizes are; or change any bytes."""
    if draw.randrange(2):
        return mutate_bytes(content, draw)
    data, form = bytearray(content), draw.choice(["<I", ">I", "<H", ">H", "B"])
    size = struct.calcsize(form)
    at = draw.randrange(max(1, min(_FRONT, len(data) - size)))
    data[at : at + size] = struct.pack(form, draw.choice(NUMBERS) % 2 ** (8 * size))
    return bytes(data)


def mutate_jpeg(content: bytes, draw: Random) -> bytes:
    """Change, remove, repeat or move a segment of a JPEG file; or the bytes."""
    if draw.randrange(4) == 0 or not content.startswith(b"\xff\xd8"):
        return mutate_bytes(content, draw)
    if draw.randrange(12) == 0:
        return _repeat_scan(content, draw)
    segments, at = [], 2
    while at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != 0xDA:
        (size,) = struct.unpack(">H", content[at + 2 : at + 4])
        segments.append((content[at : at + 2], content[at + 4 : at + 2 + size]))
        at += 2 + size
    if not segments:
        return mutate_bytes(content, draw)
    chosen = draw.randrange(len(segments))
    marker, data = segments[chosen]
    if marker in _FRAMES and len(data) > 5 and draw.randrange(2):
        sides = struct.pack(">HH", draw.choice(_SIDES), draw.choice(_SIDES))
        segments[chosen] = (marker, data[:1] + sides + data[5:])
        return _join_segments(content[:2], segments, content[at:])
    match draw.randrange(6):
        case 0:
            del segments[chosen]
        case 1:
            segments.insert(draw.randrange(len(segments)), segments[chosen])
        case 2:
            draw.shuffle(segments)
        case 3:
            segments[chosen] = (bytes([0xFF, draw.randrange(0xC0, 0xFF)]), data)
        case _:
            segments[chosen] = (marker, mutate_front(data, draw)[:65_000])
    return _join_segments(content[:2], segments, content[at:])


def _repeat_scan(content: bytes, draw: Random) -> bytes:
    """Repeat the last scan of a JPEG file."""
    start, end = content.rfind(b"\xff\xda"), content.rfind(b"\xff\xd9")
    if not 0 < start < end:
        return mutate_bytes(content, draw)
    return content[:end] + content[start:end] * draw.choice([1, 10, 1000]) + content[end:]


def _join_segments(start: bytes, segments: list[tuple[bytes, bytes]], rest: bytes) -> bytes:
    packed = [one + struct.pack(">H", len(data) + 2) + data for one, data in segments]
    return start + b"".join(packed) + rest


def mutate_tiff(content: bytes, draw: Random) -> bytes:
    """Change an entry of the first directory of a TIFF file, or what follows it; or the bytes."""
    order = {b"II": "<", b"MM": ">"}.get(content[:2])
    if draw.randrange(4) == 0 or order is None or len(content) < 8:
        return mutate_bytes(content, draw)
    (start,) = struct.unpack(f"{order}I", content[4:8])
    if start + 2 > len(content):
        return mutate_bytes(content, draw)
    (n,) = struct.unpack(f"{order}H", content[start : start + 2])
    n = min(n, (len(content) - start - 6) // 12)
    if n < 1:
        return mutate_bytes(content, draw)
    data, at = bytearray(content), start + 2 + 12 * draw.randrange(n)
    number = draw.choice([*NUMBERS, start, at])
    match draw.randrange(5):
        case 0:
            data[at : at + 2] = struct.pack(
                f"{order}H", draw.choice([256, 257, 258, 273, 278, 330])
            )
        case 1:
            data[at + 2 : at + 4] = struct.pack(f"{order}H", draw.randrange(20))
        case 2:
            data[at + 4 : at + 8] = struct.pack(f"{order}I", number % 2**32)
        case 3:
            data[at + 8 : at + 12] = struct.pack(f"{order}I", number % 2**32)
        case _:
            end = start + 2 + 12 * n
            data[end : end + 4] = struct.pack(f"{order}I", draw.choice([start, number % 2**32]))
    return bytes(data)


def mutate_protobuf(content: bytes, draw: Random) -> bytes:
    """Change a field of a message, at any depth, with lengths that are right; or the bytes."""
    fields = _parse_message(content)
    if not fields or draw.randrange(12) == 0:
        return mutate_bytes(content, draw)
    at = draw.randrange(len(fields))
    key, value = fields[at]
    match draw.randrange(10):
        case 0:
            del fields[at]
        case 1:
            fields.append(fields[at])
        case 2:
            fields[at] = (8 * draw.randrange(1, 30) + key % 8, value)
        case _:
            fields[at] = (key, _change_field(key % 8, value, draw))
    return b"".join(_pack_field(*field) for field in fields)


def _change_field(wire: int, value: bytes, draw: Random) -> bytes:
    if wire == _BYTES:
        inner = draw.choice([mutate_protobuf] * 6 + [mutate_bytes])
        return inner(value, draw) if value else draw.choice(WORDS)
    if wire == _VARINT:
        return _pack_varint(draw.choice(NUMBERS) % 2**64)
    return struct.pack("<Q", draw.choice(NUMBERS) % 2**64)[: len(value)]


def _parse_message(content: bytes) -> list[tuple[int, bytes]]:
    """Return the keys and values of a message; nothing if it is not one."""
    fields, at = [], 0
    while at < len(content):
        key, at = _read_varint(content, at)
        wire, start = key % 8, at
        if wire == _VARINT:
            _, end = _read_varint(content, at)
        elif wire == _BYTES:
            size, start = _read_varint(content, at)
            end = start + size
        else:
            end = start + {_FIXED64: 8, _FIXED32: 4}.get(wire, len(content))
        if key < 8 or end > len(content):
            return []
        fields.append((key, content[start:end]))
        at = end
    return fields


def _pack_field(key: int, value: bytes) -> bytes:
    return _pack_varint(key) + (_pack_varint(len(value)) if key % 8 == _BYTES else b"") + value


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends; 0 and beyond the end if it is not complete."""
    number = 0
    for i in range(10):
        if at + i >= len(content):
            break
        number |= (content[at + i] & 127) << (7 * i)
        if content[at + i] < 128:
            return number, at + i + 1
    return 0, len(content) + 1


def _pack_varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def mutate_pickles(content: bytes, draw: Random) -> bytes:
    """Change an operation of one of several pickles, or what follows them; or the bytes."""
    starts = _list_operations(content)
    if len(starts) < 2 or draw.randrange(6) == 0:
        return mutate_bytes(content, draw)
    number = draw.randrange(len(starts) - 1)
    start, end = starts[number : number + 2]
    other = draw.randrange(len(starts) - 1)
    number_of_four = struct.pack("<I", draw.choice(NUMBERS) % 2**32)
    word = draw.choice(WORDS)[:5000]
    replaced = draw.choice(
        [
            b"",
            content[start:end] * 2,
            content[starts[other] : starts[other + 1]],
            draw.choice(_OPERATIONS),
            content[start:end] + draw.choice(_OPERATIONS),
            b"J" + number_of_four,
            b"X" + struct.pack("<I", len(word)) + word,
            content[start : start + 1] + number_of_four[: max(0, end - start - 1)],
        ]
    )
    return content[:start] + replaced + content[end:]


def _list_operations(content: bytes) -> list[int]:
    """Return where each operation of the pickles at the start of a file begins, and their end."""
    starts, at = [], 0
    try:
        while content[at : at + 1] == b"\x80":
            for operation, _, position in pickletools.genops(content[at:]):
                starts.append(at + (position or 0))
                if operation.name == "STOP":
                    break
            at = starts[-1] + 1
            starts.append(at)
    except Exception:  # what is damaged is not an operation
        return starts
    return starts
