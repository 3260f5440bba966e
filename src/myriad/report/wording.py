"""How numbers and names are written for a reader, the same everywhere in a report."""

from __future__ import annotations

import math
import re
from datetime import datetime

from markupsafe import Markup

NO_BREAK = "\u00a0"
MISSING = "–"


def show_percent(value: float | None, digits: int = 1) -> str:
    """Write a percentage: ``71.2 %``; 99.96 is not rounded up to a perfect 100."""
    if value is None:
        return MISSING
    shown = f"{value:.{digits}f}"
    if value < 100 and float(shown) == 100:
        shown = f"{100 - 10**-digits:.{digits}f}"
    if shown == f"{100:.{digits}f}":
        shown = "100"
    return f"{shown}{NO_BREAK}%"


def show_count(value: float | None) -> str:
    """Write a count with thousands apart: ``12,500``."""
    return MISSING if value is None else f"{int(value):,}"


def show_bytes(value: float | None) -> str:
    """Write a size in decimal units: ``12.3 MB``."""
    if value is None:
        return MISSING
    unit = "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g}{NO_BREAK}{unit}"


def show_seconds(value: float | None) -> str:
    """Write a time: ``3.2 s``, ``4 min 5 s`` or ``2 h 10 min``."""
    if value is None:
        return MISSING
    if value < 99.5:
        return f"{value:.2g}{NO_BREAK}s" if value < 10 else f"{value:.0f}{NO_BREAK}s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}{NO_BREAK}min {seconds}{NO_BREAK}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}{NO_BREAK}h {minutes}{NO_BREAK}min"


def show_time(text: str) -> str:
    """Write an ISO time for a reader, ``15 November 2026, 12:00 UTC``; other text as it is."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.day} {time:%B %Y, %H:%M %Z}".rstrip()


def show_number(value: float | str | None) -> str:
    """Write the value of a setting: yes or no, at most four significant digits, text as it is."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    return f"{value:.4g}"


def show_name(name: str) -> Markup:
    """Return a name that a browser may break after "_" and ".", rather than within a word."""
    return Markup("").join(
        part + Markup("<wbr>") if part in ("_", ".") else part for part in re.split(r"([_.])", name)
    )


def show_suggestion(label: str, percent: float | None) -> str:
    """Write a label that is suggested for an image: ``heron? (87 %)``.

    The label is isolated, so that one written from right to left does not move what follows.
    """
    sure = "" if percent is None else f" ({percent:.0f}{NO_BREAK}%)"
    return f"\N{FIRST STRONG ISOLATE}{label}\N{POP DIRECTIONAL ISOLATE}?{sure}"


def plural(count: int, word: str, words: str | None = None) -> str:
    """Write a count with its noun: ``1 image``, ``2 images``, ``2 classes``."""
    return f"{show_count(count)} {word if count == 1 else words or word + 's'}"


def find_interval(percent: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of an accuracy over `n` samples, in percent.

    It is for `n` samples that were drawn independently; unlike the normal interval it stays within
    0 to 100.
    """
    z = 1.959963984540054
    share = percent / 100
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 100 / (1 + z * z / n)
    low, high = scale * (centre - spread), scale * (centre + spread)
    return round(max(0.0, low), 6), round(min(100.0, high), 6)
