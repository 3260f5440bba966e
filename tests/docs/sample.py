"""The images that the commands of the documentation are run on: drawn letters, a folder per letter.

They stand for the reader's photographs, under the names that the pages use:

- ``photos/``: a sub-folder per class, nothing set apart;
- ``letters/``: ``train/``, ``val/`` and ``test/`` with those sub-folders;
- ``photos.csv``: a manifest of the images in ``photos/``, two images per group;
- ``photos.zip``: the folder ``photos/``, packed;
- ``more/``: a sub-folder each for two letters that ``letters/`` lacks;
- ``new/``: images without labels, one of them cut short;
- ``recipes/``, ``benchmarks/``: those of the repository, as in a copy of the source;
- ``letters.model``, ``letters.store``: what `TRAINED` makes of ``letters/``.
"""

import csv
import shutil
from pathlib import Path

import cv2

from myriad.images.glyphs import GlyphSet, draw_glyph
from tests.docs.pages import ROOT

LETTERS = list("abcdefghijklmnopqrstuvwx")
PHOTOS = range(10)
PARTS = {"train": range(100, 112), "val": range(112, 114), "test": range(114, 119)}
GLYPHS = GlyphSet(characters=LETTERS, class_names=LETTERS, ceiling=100.0)
MORE = GlyphSet(characters=["y", "z"], class_names=["y", "z"], ceiling=100.0)
TRAINED = "myriad train letters --out letters.model --store letters.store --components 16"


def make_sample(folder: Path) -> None:
    """Draw and write the images, the manifest and the archive into a folder."""
    for label, letter in enumerate(LETTERS):
        for number in PHOTOS:
            write_letter(folder / "photos" / letter / f"{number}.jpg", label, number)
        for part, numbers in PARTS.items():
            for number in numbers:
                write_letter(folder / "letters" / part / letter / f"{number}.png", label, number)
    for label, letter in enumerate(MORE.class_names):
        for number in PHOTOS:
            write_letter(folder / "more" / letter / f"{number}.jpg", label, number, MORE)
    for label in range(3):
        write_letter(folder / "new" / f"{label + 1}.jpg", label, 200)
    whole = (folder / "new" / "1.jpg").read_bytes()
    (folder / "new" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    write_manifest(folder / "photos.csv")
    for name in ("recipes", "benchmarks"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.make_archive(str(folder / "photos"), "zip", folder, "photos")


def write_letter(path: Path, label: int, number: int, glyphs: GlyphSet = GLYPHS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), draw_glyph(glyphs, label, number, seed=0))


def write_manifest(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["path", "label", "group"])
        for letter in LETTERS:
            for number in PHOTOS:
                group = f"{letter}{number // 2}"
                writer.writerow([f"photos/{letter}/{number}.jpg", letter, group])
