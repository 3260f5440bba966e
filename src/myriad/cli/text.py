"""Text for the terminal: names made safe to print, formatted numbers, JSON on one line."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

from myriad.errors import InputError

_UNSAFE = {"Cc", "Cs", "Zl", "Zp"}
_DIRECTION_CHANGES = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: object) -> str:
    r"""Return a text with control characters written as escapes, such as ``\n`` and ``\x1b``.

    A file name may hold line ends, terminal commands, half a character or marks that reverse the
    direction of writing; printed as they are, they could fake or erase what the command says.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE or character in _DIRECTION_CHANGES:
        return character.encode("unicode_escape").decode("ascii")
    return character


def format_seconds(seconds: float) -> str:
    """Write a length of time: ``0.4 s``, ``12 s``, ``3 min 05 s``, ``2 h 07 min``.

    Whole numbers (of type int) stay whole: ``4 s``.
    """
    if seconds < 9.95 and not isinstance(seconds, int):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_days(seconds: float) -> str:
    """Write a length of time that may be long: ``3 min 05 s``, ``2 h 07 min``, ``11.4 days``."""
    return format_seconds(seconds) if seconds < 2 * 86400 else f"{seconds / 86400:,.1f} days"


def parse_bytes(text: str, option: str) -> int:
    """Return the size that a text such as ``16GB``, ``1.5 TB`` or ``800MB`` states."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    size = 0.0
    if match:
        number, letter, binary = match.groups()
        base = 1024 if binary else 1000
        size = float(number) * base ** " kmgt".index(letter.lower() or " ")
    if not 1 <= size < 2**62:
        raise InputError(f"{option} must be a size such as 800MB or 16GB, not {text!r}.")
    return int(size)


def format_bytes(size: float) -> str:
    """Write a size in powers of 1000, with three figures: ``870 B``, ``3.42 MB``, ``1.10 TB``."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        del units[0]
    if units[0] == "B" or size >= 99.95:
        return f"{size:,.0f} {units[0]}"
    return f"{size:.1f} {units[0]}" if size >= 9.995 else f"{size:.2f} {units[0]}"


def format_settings(settings: Mapping[str, Any]) -> str:
    """Return settings as one line, such as "eta 0.1, beta 8, scale no"."""
    return ", ".join(f"{name} {_format_setting(value)}" for name, value in settings.items())


def _format_setting(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def format_amount(done: int, total: int | None = None, unit: str = "") -> str:
    """Write how much is done: ``1,200 of 9,000 images``, or ``1 image`` without a total.

    Parameters
    ----------
    unit : what is counted, in the plural.
    """
    amount = f"{done:,}" if total is None else f"{done:,} of {total:,}"
    if (done if total is None else total) == 1:
        unit = unit.removesuffix("es") if unit.endswith("ches") else unit.removesuffix("s")
    return f"{amount} {unit}".rstrip()


def format_rate(per_second: float, unit: str) -> str:
    """Write a speed: ``731 images/s``, ``4.2 shards/s``, ``0.05 epochs/s``."""
    if per_second >= 9.95:
        figure = f"{per_second:,.0f}"
    else:
        figure = f"{per_second:.1f}" if per_second >= 0.95 else f"{per_second:.2f}"
    return f"{figure} {unit}/s" if unit else f"{figure}/s"


def to_line(content: Any) -> str:
    """Return `content` as JSON on one line of ASCII, which every terminal and locale can print."""
    return json.dumps(to_plain(content), allow_nan=False)


def to_plain(content: Any) -> Any:
    """Return `content` in types that JSON has: NaN and infinity become None, paths strings.

    NumPy's scalars and arrays become numbers and lists.
    """
    if isinstance(content, dict):
        return {str(key): to_plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [to_plain(value) for value in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, PathLike):
        return fspath(content)
    if hasattr(content, "tolist"):
        return to_plain(content.tolist())
    return content
