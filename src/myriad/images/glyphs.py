"""The built-in data set: drawings of characters, one class per character.

It has thousands of classes, many of them very similar, and needs no download. An image shows one
character in one of ten faces, slightly rotated, slanted, scaled and shifted, dark on light or light
on dark, on an uneven background, blurred and noisy.
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
    iterate_all,
    iterate_distinct,
)
from myriad.parallel.threads import map_ordered, thread_count, thread_executor
from myriad.progress import SILENT, Progress
from myriad.randomness import generator

MIN_CLASSES = 10
_PNG_END = b"IEND\xaeB`\x82"
_STREAM = zlib.crc32(b"glyphs")
_EM = 0.6  # an em as a fraction of the side of the image
_MIDDLE = 0.36  # height above the base line, in ems, of the centre of the image


@dataclass(frozen=True)
class GlyphSet:
    """The classes of a drawn data set.

    Attributes
    ----------
    characters : the character that each class shows.
    class_names : such as "U+0041 LATIN CAPITAL LETTER A"; sorted.
    ceiling : the best possible top-1 accuracy in percent: 100, unless characters that are drawn
        alike are different classes.
    """

    characters: list[str]
    class_names: list[str]
    ceiling: float


@lru_cache(maxsize=2)
def count_classes(*, confusables: bool = False) -> int:
    """Return how many classes the fonts provide."""
    return sum(map(len, iterate_all() if confusables else iterate_distinct()))


def choose_glyphs(n_classes: int, *, seed: int = 0, confusables: bool = False) -> GlyphSet:
    """Choose characters, the common ones first.

    Characters come in tiers (letters and digits, punctuation, Latin-1, Greek, ...); the last
    one is sampled with the seed if it is not needed completely. Of characters that any face draws
    alike (Latin and Greek A) only the first is a class. With `confusables` all of them are, and
    `ceiling` takes into account that of g classes that look alike one in g guesses is right.
    """
    if n_classes < MIN_CLASSES:
        raise InputError(f"At least {MIN_CLASSES} classes can be drawn, not {n_classes}.")
    random = generator(seed, "glyph classes")
    chosen: list[str] = []
    for tier in iterate_all() if confusables else iterate_distinct():
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
    """Return a class name that is readable and valid as the name of a folder."""
    return f"U+{ord(character):04X} {unicodedata.name(character)}"


def _compute_ceiling(characters: list[str]) -> float:
    """Return the mean over the faces of the share of drawings that differ, in percent."""
    distinct = [len({identify_drawing(face, one) for one in characters}) for face in FACES]
    return 100.0 * sum(distinct) / (len(FACES) * len(characters))


def draw_glyph(glyphs: GlyphSet, label: int, number: int, *, seed: int, size: int = 96) -> Bytes:
    """Draw one image, which depends only on the character, `number`, `seed` and `size`.

    Returns
    -------
    uint8 array of shape (size, size).
    """
    character = glyphs.characters[label]
    key = np.random.Philox(key=[seed, _STREAM], counter=[0, 0, ord(character), number])
    random = np.random.Generator(key)
    face = FACES[int(random.integers(len(FACES)))]
    ink, base = draw_character(face, character, round(_EM * size))
    transform = _draw_transform(random, ink.shape[1], base, size)
    cover = cv2.warpAffine(ink, transform, (size, size), flags=cv2.INTER_LINEAR).astype(np.float32)
    background, contrast = _draw_light(random, size)
    image = background + cover * (contrast / 255.0)
    blur = random.uniform(0.3, 1.3) * size / 96
    image = np.asarray(cv2.GaussianBlur(image, (0, 0), blur), np.float32)
    image += random.uniform(2.0, 10.0) * random.standard_normal((size, size), dtype=np.float32)
    return np.rint(image).clip(0, 255).astype(np.uint8)


def _draw_transform(random: np.random.Generator, width: int, base: int, size: int) -> Float:
    """Draw a random affine transform, float32 (2, 3): rotation, slant, scale and shift."""
    angle, slant = np.deg2rad(random.uniform(-14, 14)), random.uniform(-0.15, 0.15)
    scale, aspect = random.uniform(0.8, 1.12), random.uniform(0.9, 1.1)
    scale *= min(1.0, 0.75 * size / max(width, 1))  # wide characters must fit
    shift = random.uniform(-0.06, 0.06, size=2) * size
    cos, sin = np.cos(angle), np.sin(angle)
    form = np.array([[cos, -sin], [sin, cos]]) @ np.array([[1.0, slant], [0.0, 1.0]])
    form = form * np.array([scale * aspect, scale / aspect])
    middle = np.array([(width - 1) / 2, base - _MIDDLE * _EM * size])
    offset = (size - 1) / 2 + shift - form @ middle
    return np.column_stack([form, offset]).astype(np.float32)


def _draw_light(random: np.random.Generator, size: int) -> tuple[Float, float]:
    """Draw the background, a gradient with soft blotches, and the contrast of the ink."""
    contrast = random.uniform(65.0, 160.0)
    level = random.uniform(0.2 * contrast, 255.0 - 1.2 * contrast)
    if random.random() < 0.5:
        level, contrast = 255.0 - level, -contrast
    slope = random.uniform(-0.2, 0.2, size=2) * abs(contrast)
    across = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    n_blotches = int(random.integers(3, 9))
    blotches = random.standard_normal((n_blotches, n_blotches), dtype=np.float32)
    spread = cv2.resize(blotches, (size, size), interpolation=cv2.INTER_CUBIC)
    background = np.asarray(spread, np.float32)
    background *= random.uniform(0.02, 0.14) * abs(contrast)
    background += np.float32(level + slope[0] * across)
    background += np.float32(slope[1]) * across[:, None]
    return background, contrast


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
    splits : the fractions of train, val and test.

    Complete files are not written again, so an interrupted call can be repeated to resume it.
    """
    names = _assign_splits(images, splits)

    def write_class(label: int) -> int:
        for number, split in enumerate(names):
            path = folder / split / glyphs.class_names[label] / f"{number + 1:04d}.png"
            if not _is_complete(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                image = draw_glyph(glyphs, label, number, seed=seed, size=size)
                path.write_bytes(cv2.imencode(".png", image)[1].tobytes())
        return len(names)

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


def _assign_splits(images: int, splits: Sequence[float]) -> list[str]:
    """Return the split of each image of a class."""
    if images < 1:
        raise InputError(f"At least one image per class must be drawn, not {images}.")
    if len(splits) != 3 or min(splits) < 0 or abs(sum(splits) - 1.0) > 1e-6:
        raise InputError(
            "The fractions of train, val and test must be three numbers that sum to 1."
        )
    ends = np.floor(np.cumsum(splits) * images + 0.5).astype(int)
    ends[-1] = images
    counts = np.diff(ends, prepend=0)
    return [
        split for split, n in zip(("train", "val", "test"), counts, strict=True) for _ in range(n)
    ]


def _is_complete(path: Path) -> bool:
    """Return whether a PNG file exists and has its end."""
    try:
        with path.open("rb") as stream:
            stream.seek(-len(_PNG_END), 2)
            return stream.read() == _PNG_END
    except OSError:
        return False
