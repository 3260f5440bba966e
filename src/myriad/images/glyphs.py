"""The built-in data set: characters drawn in many ways, a class a character.

Thousands of classes, many of them nearly alike, without a download: an image shows one character
in one of ten faces, turned, slanted, scaled and shifted a little, dark on light or light on dark,
on an uneven ground, blurred and noisy.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from myriad.arrays import Bytes, Float
from myriad.errors import InputError, WorkError
from myriad.images.glyph_faces import (
    FACES,
    draw_character,
    identify_drawing,
    walk_all,
    walk_distinct,
)
from myriad.parallel.threads import map_ordered, thread_count, thread_executor
from myriad.progress import SILENT, Progress
from myriad.randomness import generator

MIN_CLASSES = 10
_PNG_END = b"IEND\xaeB`\x82"
_STREAM = zlib.crc32(b"glyphs")
_EM = 0.6  # an em is this part of the image's side
_MIDDLE = 0.36  # height above the base line, in ems, that is put into the middle of the image


@dataclass(frozen=True)
class GlyphSet:
    """The classes of a drawn data set.

    Attributes
    ----------
    characters : the character that each class shows.
    class_names : such as "U+0041 LATIN CAPITAL LETTER A"; sorted.
    ceiling : the best top-1 accuracy, in percent, that anyone could reach: 100, unless characters
        that are drawn alike are classes apart.
    """

    characters: list[str]
    class_names: list[str]
    ceiling: float


@lru_cache(maxsize=2)
def count_classes(*, confusables: bool = False) -> int:
    """Return how many classes the fonts hold."""
    return sum(map(len, walk_all() if confusables else walk_distinct()))


def choose_glyphs(n_classes: int, *, seed: int = 0, confusables: bool = False) -> GlyphSet:
    """Choose characters, the familiar ones first.

    Characters come in tiers (letters and digits, punctuation, Latin-1, Greek, ...); a tier that is
    not needed whole is sampled with the seed. Of characters that any face draws alike (Latin and
    Greek A) only the first is a class; with `confusables` all are, and `ceiling` says what that
    costs: g classes that look alike can be told right once in g times.
    """
    if n_classes < MIN_CLASSES:
        raise InputError(f"At least {MIN_CLASSES} classes can be drawn, not {n_classes}.")
    random = generator(seed, "glyph classes")
    chosen: list[str] = []
    for tier in walk_all() if confusables else walk_distinct():
        wanted = min(len(tier), n_classes - len(chosen))
        chosen.extend(tier[i] for i in random.permutation(len(tier))[:wanted])
        if len(chosen) == n_classes:
            break
    else:
        raise InputError(
            f"{n_classes} classes cannot be drawn: the fonts hold {len(chosen)} characters"
            f"{'' if confusables else ' that do not look alike'}."
        )
    named = sorted((name_character(character), character) for character in chosen)
    return GlyphSet(
        characters=[character for _, character in named],
        class_names=[name for name, _ in named],
        ceiling=_compute_ceiling(chosen) if confusables else 100.0,
    )


def name_character(character: str) -> str:
    """Return a name that is readable and safe as a folder's."""
    return f"U+{ord(character):04X} {unicodedata.name(character)}"


def _compute_ceiling(characters: list[str]) -> float:
    """Return the mean over the faces of the share of drawings that differ, in percent."""
    distinct = [len({identify_drawing(face, one) for one in characters}) for face in FACES]
    return 100.0 * sum(distinct) / (len(FACES) * len(characters))


def draw_glyph(glyphs: GlyphSet, label: int, number: int, *, seed: int, size: int = 96) -> Bytes:
    """Draw one image, which depends on the character, `number`, `seed` and `size` alone.

    Returns
    -------
    uint8 array of shape (size, size).
    """
    character = glyphs.characters[label]
    key = np.random.Philox(key=[seed, _STREAM], counter=[0, 0, ord(character), number])
    random = np.random.Generator(key)
    face = FACES[int(random.integers(len(FACES)))]
    ink, base = draw_character(face, character, round(_EM * size))
    place = _draw_place(random, ink.shape[1], base, size)
    cover = cv2.warpAffine(ink, place, (size, size), flags=cv2.INTER_LINEAR).astype(np.float32)
    ground, contrast = _draw_light(random, size)
    image = ground + cover * (contrast / 255.0)
    blur = random.uniform(0.3, 1.3) * size / 96
    image = np.asarray(cv2.GaussianBlur(image, (0, 0), blur), np.float32)
    image += random.uniform(2.0, 10.0) * random.standard_normal((size, size), dtype=np.float32)
    return np.rint(image).clip(0, 255).astype(np.uint8)


def _draw_place(random: np.random.Generator, width: int, base: int, size: int) -> Float:
    """Draw the affine map from the ink to the image: turn, slant, scale, shift."""
    turn, slant = np.deg2rad(random.uniform(-14, 14)), random.uniform(-0.15, 0.15)
    scale, aspect = random.uniform(0.8, 1.12), random.uniform(0.9, 1.1)
    scale *= min(1.0, 0.75 * size / max(width, 1))  # a wide character has to fit in
    shift = random.uniform(-0.06, 0.06, size=2) * size
    cos, sin = np.cos(turn), np.sin(turn)
    form = np.array([[cos, -sin], [sin, cos]]) @ np.array([[1.0, slant], [0.0, 1.0]])
    form = form * np.array([scale * aspect, scale / aspect])
    middle = np.array([(width - 1) / 2, base - _MIDDLE * _EM * size])
    offset = (size - 1) / 2 + shift - form @ middle
    return np.column_stack([form, offset]).astype(np.float32)


def _draw_light(random: np.random.Generator, size: int) -> tuple[Float, float]:
    """Draw the ground (a gradient and soft blotches) and how much lighter than it the ink is."""
    contrast = random.uniform(65.0, 160.0)
    level = random.uniform(0.2 * contrast, 255.0 - 1.2 * contrast)
    if random.random() < 0.5:
        level, contrast = 255.0 - level, -contrast
    slope = random.uniform(-0.2, 0.2, size=2) * abs(contrast)
    across = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    n_blotches = int(random.integers(3, 9))
    blotches = random.standard_normal((n_blotches, n_blotches), dtype=np.float32)
    spread = cv2.resize(blotches, (size, size), interpolation=cv2.INTER_CUBIC)
    ground = np.asarray(spread, np.float32)
    ground *= random.uniform(0.02, 0.14) * abs(contrast)
    ground += np.float32(level + slope[0] * across)
    ground += np.float32(slope[1]) * across[:, None]
    return ground, contrast


def write_glyphs(
    folder: Path,
    glyphs: GlyphSet,
    *,
    images: int,
    seed: int,
    splits: Sequence[float] = (0.7, 0.1, 0.2),
    size: int = 96,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> None:
    """Write ``folder/train/<class>/0001.png`` and so on, `images` of each class.

    Parameters
    ----------
    splits : the shares of train, val and test.

    Files that are whole already are kept, so a call that was broken off goes on where it was.
    """
    parts = _share_out(images, splits)

    def write_class(label: int) -> int:
        for number, part in enumerate(parts):
            path = folder / part / glyphs.class_names[label] / f"{number + 1:04d}.png"
            if not _is_whole(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                image = draw_glyph(glyphs, label, number, seed=seed, size=size)
                path.write_bytes(cv2.imencode(".png", image)[1].tobytes())
        return len(parts)

    n_classes = len(glyphs.class_names)
    ahead = 4 * thread_count(threads)
    try:
        with (
            progress.step("Drawing characters", n_classes * images, "images") as advance,
            thread_executor(threads) as executor,
        ):
            for written in map_ordered(write_class, range(n_classes), executor, ahead=ahead):
                advance(written)
    except OSError as error:
        raise WorkError(f"{folder} cannot be written: {error.strerror}.") from None


def _share_out(images: int, splits: Sequence[float]) -> list[str]:
    """Return the part that each of a class's images is for."""
    if images < 1:
        raise InputError(f"At least one image a class must be drawn, not {images}.")
    if len(splits) != 3 or min(splits) < 0 or abs(sum(splits) - 1.0) > 1e-6:
        raise InputError("The shares of train, val and test must be three that add up to 1.")
    ends = np.floor(np.cumsum(splits) * images + 0.5).astype(int)
    ends[-1] = images
    counts = np.diff(ends, prepend=0)
    return [
        part for part, n in zip(("train", "val", "test"), counts, strict=True) for _ in range(n)
    ]


def _is_whole(path: Path) -> bool:
    """Return whether a PNG file is there to its end."""
    try:
        with path.open("rb") as stream:
            stream.seek(-len(_PNG_END), 2)
            return stream.read() == _PNG_END
    except OSError:
        return False
