"""The characters of the DejaVu fonts that come with matplotlib, and their drawings."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import ImageFont

from myriad.arrays import Bytes
from myriad.errors import WorkError

FACES = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSans-BoldOblique",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSansMono",
    "DejaVuSansMono-Bold",
    "DejaVuSansMono-Oblique",
    "DejaVuSansMono-BoldOblique",
)
"""The serif italics are left out: they draw some Cyrillic letters as quite other Latin ones."""

_VISIBLE = "LNPS"  # letters, numbers, punctuation, symbols: the first letters of the categories
_COMPARED_AT = 48  # pixels per em at which two drawings are compared

# Common characters come first, so that a small data set has familiar ones. Characters in none of
# the other ranges (modifiers, box drawing, blocks) come last.
_TIERS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),  # digits and letters
    ((0x21, 0x7E),),  # the rest of ASCII
    ((0xA1, 0xFF),),  # Latin-1
    ((0x391, 0x3C9), (0x410, 0x44F)),  # the Greek and the Russian alphabet
    ((0x370, 0x3FF), (0x400, 0x45F)),  # the rest of Greek, more of Cyrillic
    ((0x100, 0x17F),),  # Latin Extended-A
    ((0x2010, 0x205E), (0x20A0, 0x20CF)),  # punctuation, currencies
    ((0x2100, 0x21FF),),  # letter-like symbols, fractions, arrows
    ((0x2200, 0x22FF), (0x27C0, 0x2AFF)),  # mathematical operators
    ((0x25A0, 0x27BF), (0x2B00, 0x2BFF)),  # shapes and symbols
    ((0x180, 0x24F),),  # Latin Extended-B
    ((0x460, 0x58F), (0x10A0, 0x10FF)),  # rare Cyrillic, Armenian, Georgian
    ((0x250, 0x2AF),),  # phonetic letters
    ((0x1E00, 0x1EFF),),  # Latin with more accents
    ((0x1F00, 0x1FFF),),  # Greek with accents
    ((0x0, 0x10FFFF),),
)

_drawing = threading.Lock()


@lru_cache(maxsize=1)
def _font_folder() -> Path:
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf"


@lru_cache(maxsize=1)
def list_tiers() -> tuple[tuple[str, ...], ...]:
    """Return the characters that all faces have, in tiers, the most common ones first."""
    from matplotlib.ft2font import FT2Font

    try:
        held = [set(FT2Font(str(_font_path(face))).get_charmap()) for face in FACES]
    except (OSError, RuntimeError) as error:
        raise WorkError(f"The fonts of matplotlib cannot be read: {error}.") from None
    waiting = [code for code in sorted(set.intersection(*held)) if _is_visible(chr(code))]
    tiers = []
    for ranges in _TIERS:
        tier = [code for code in waiting if any(a <= code <= b for a, b in ranges)]
        taken = set(tier)
        waiting = [code for code in waiting if code not in taken]
        tiers.append(tuple(map(chr, tier)))
    return tuple(tiers)


def _font_path(face: str) -> Path:
    return _font_folder() / f"{face}.ttf"


def _is_visible(character: str) -> bool:
    named = unicodedata.name(character, "") != ""
    return named and unicodedata.category(character)[0] in _VISIBLE


@lru_cache(maxsize=256)
def _font(face: str, em: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(_font_path(face)), em, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=4096)
def draw_character(face: str, character: str, em: int) -> tuple[Bytes, int]:
    """Draw a character, cropped to its ink.

    Parameters
    ----------
    em : pixels per em.

    Returns
    -------
    The ink as a read-only uint8 array (0 none, 255 full), empty if there is none; and the row of
    its base line, counted from the top.
    """
    with _drawing:  # FreeType's faces are not thread-safe
        font = _font(face, em)
        mask, (_, top) = font.getmask2(character, "L", anchor="ls")
    ink = np.frombuffer(bytes(mask), np.uint8).reshape(mask.size[1], mask.size[0])
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not len(rows):
        return ink[:0], 0
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], -int(top) - int(rows[0])


@lru_cache(maxsize=1 << 16)
def identify_drawing(face: str, character: str) -> int:
    """Return a hash that is equal for two characters that a face draws alike; 0 for no ink.

    The horizontal position of the ink does not matter, because images are centred on it; its height
    above the base line does.
    """
    ink, base = draw_character.__wrapped__(face, character, _COMPARED_AT)
    return hash((ink.shape, base, ink.tobytes())) if ink.any() else 0


def iterate_distinct() -> Iterator[tuple[str, ...]]:
    """Yield, tier by tier, the characters that no face draws like an earlier character.

    Characters are drawn when their tier is requested, so a few of them take little time.
    """
    seen: list[set[int]] = [{0} for _ in FACES]
    for tier in list_tiers():
        kept = []
        for character in tier:
            drawings = [identify_drawing(face, character) for face in FACES]
            if any(one in known for one, known in zip(drawings, seen, strict=True)):
                continue
            for one, known in zip(drawings, seen, strict=True):
                known.add(one)
            kept.append(character)
        yield tuple(kept)


def iterate_all() -> Iterator[tuple[str, ...]]:
    """Yield, tier by tier, all characters that have ink in every face, also if they look alike."""
    for tier in list_tiers():
        yield tuple(
            character
            for character in tier
            if all(identify_drawing(face, character) for face in FACES)
        )
