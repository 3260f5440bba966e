"""Cases of data: what ``train`` and ``extract`` are given to read."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case, Make
from tests.robustness.inputs import bad_images, copy, picture, write_images, write_manifest

TRAIN = f"train images --out m {QUICK}"
EXTRACT = f"extract images --out s {QUICK.split(' --epochs')[0]}"


def images(**options: object) -> Make:
    return lambda here, ready: write_images(here / "images", **options)  # type: ignore[arg-type]


def bad(*names: str, n: int = 40) -> Make:
    """Return a function that writes `n` images per class, and bad ones by name."""

    def make(here: Path, ready: Path) -> None:
        write_images(here / "images", ("ant", "bee"), n=n)
        for name in names:
            (here / "images" / "ant" / name).write_bytes(bad_images()[name][0])

    return make


def degenerate(here: Path, ready: Path) -> None:
    """Images of one colour, of one pixel, and smaller than a patch; nothing else in one class."""
    write_images(here / "images", ("ant", "bee"), n=4)
    for name in ("ant", "dot"):
        (here / "images" / name).mkdir(exist_ok=True)
        for size in ((1, 1), (5, 400), (12, 9), (90, 70)):
            path = here / "images" / name / f"{size[0]} by {size[1]}.png"
            Image.new("RGB", size, (200, 30, 30)).save(path)


def all_bad(here: Path, ready: Path) -> None:
    for number, name in enumerate(("ant", "bee", "cow")):
        (here / "images" / name).mkdir(parents=True)
        (here / "images" / name / "x.png").write_bytes(b"no picture" * number)


def refuse_reading(patch: pytest.MonkeyPatch) -> None:
    """Simulate that image 3.png of each class may not be read: root may read everything."""
    plain = open

    def refuse(path, *rest, **options):
        if str(path).endswith("3.png"):
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, *rest, **options)

    patch.setattr("myriad.images.reading.open", refuse, raising=False)


def manifest(*lines: str, header: str = "path,label") -> Make:
    def make(here: Path, ready: Path) -> None:
        copy(ready / "images", here / "pics")
        write_manifest(here / "list.csv", lines, header)

    return make


def links(here: Path, ready: Path) -> None:
    write_images(here / "images")
    os.symlink("..", here / "images" / "ant" / "up")
    os.symlink(".", here / "images" / "round")
    os.symlink("two", here / "images" / "one")
    os.symlink("one", here / "images" / "two")


def nested(here: Path, ready: Path) -> None:
    write_images(here / "images")
    write_images(here / "images" / "cow" / "deeper", ("still", "and"))


def pack_outside(name: str) -> Make:
    """Return a function that writes an archive with a member outside its folder."""

    def make(here: Path, ready: Path) -> None:
        (here / "x.png").write_bytes(picture(0, 0))
        if name.endswith(".zip"):
            with zipfile.ZipFile(here / name, "w") as packed:
                packed.write(here / "x.png", "../evil.png")
        else:
            with tarfile.open(here / name, "w") as tar:
                tar.add(here / "x.png", "../evil.png")

    return make


HARD_NAMES = (
    "two words",
    "quote'\"",
    "new\nline",
    "Ä ö \u4e2d \U0001f600",
    "<script>alert(1)<\u2215script>",  # a name holds no plain slash
    "-rf",
    "--json",
    "a\\b",
    "$(touch evil)",
    "50%",
    "{{ 7 * 7 }}",
)
ROWS = [f"pics/{name}/{i}.png,{name}" for name in ("ant", "bee") for i in range(3)]
FROM_LIST = f"train list.csv --out m {QUICK}"

DATA_CASES = [
    Case("no such folder", "train nowhere --out m", 2, "nowhere does not exist"),
    Case("empty folder", TRAIN, 2, "images holds no images", lambda h, r: (h / "images").mkdir()),
    Case(
        "only other files",
        TRAIN,
        2,
        "only other files: 1 .txt",
        lambda h, r: [(h / "images/a").mkdir(parents=True), (h / "images/a/n.txt").touch()],
    ),
    Case(
        "images without folders",
        TRAIN,
        2,
        "no sub-folders",
        lambda h, r: [(h / "images").mkdir(), (h / "images/1.png").write_bytes(picture(0, 0))],
    ),
    Case("one class", TRAIN, 2, "at least two classes", images(classes=("ant",))),
    Case("one class, extracted", EXTRACT, 0, "myriad export s", images(classes=("ant",))),
    Case(
        "images without folders, extracted",
        EXTRACT,
        0,
        "images have no labels",
        lambda h, r: [write_images(h / "pics", ("a",)), (h / "pics/a").rename(h / "images")],
    ),
    Case(
        "class with one image",
        TRAIN,
        0,
        "Classes with one image only, which stays in training: 1, the first is 'fly'",
        lambda h, r: [write_images(h / "images"), write_images(h / "images", ("fly",), n=1)],
    ),
    Case("all classes with one image", TRAIN, 0, "No validation images", images(n=1)),
    Case(
        "data is a text file",
        "train x.txt --out m",
        2,
        "x.txt is not a folder",
        lambda h, r: (h / "x.txt").touch(),
    ),
    Case(
        "data is a pipe", "train p --out m", 2, "p is not a folder", lambda h, r: os.mkfifo(h / "p")
    ),
    Case(
        "few bad images", TRAIN, 0, "2 classes", bad("cut.jpg", "zero.png", "text.jpg", "bomb.png")
    ),
    Case(
        "few bad images, extracted",
        EXTRACT,
        0,
        "Bad images     4",
        bad("cut.png", "zero.png", "page.gif", "bomb.png"),
    ),
    *(
        Case(f"too many: {name}", f"{TRAIN} --max-bad 0", 1, f"ant/{name} (", bad(name, n=2))
        for name in bad_images()
    ),
    Case(
        "too many, by default",
        TRAIN,
        1,
        "5 % that --max-bad allows",
        bad("cut.jpg", "zero.png", n=6),
    ),
    Case("too many, extracted", EXTRACT, 1, "--max-bad", bad("cut.jpg", "zero.png", n=6)),
    Case(
        "a limit that allows them",
        f"{TRAIN} --max-bad 0.2",
        0,
        "2 classes",
        bad("cut.jpg", "zero.png", n=6),
    ),
    Case("all images bad", TRAIN, 1, "--max-bad", all_bad),
    Case(
        "all images bad and allowed",
        f"{TRAIN} --max-bad 1",
        1,
        "None of the 3 training images can be read",
        all_bad,
    ),
    Case(
        "unreadable images",
        TRAIN,
        1,
        "3.png (unreadable file (permission denied))",
        images(),
        patch=refuse_reading,
    ),
    Case(
        "dangling links",
        f"{TRAIN} --max-bad 0",
        1,
        "gone.png (missing file)",
        lambda h, r: [write_images(h / "images"), os.symlink("nowhere", h / "images/ant/gone.png")],
    ),
    Case("hard names", TRAIN, 0, "11 classes", images(classes=HARD_NAMES, n=3)),
    Case("hard names, extracted", EXTRACT, 0, "Rows           33", images(classes=HARD_NAMES, n=3)),
    Case("nested folders", TRAIN, 0, "3 classes", nested),
    Case("links in a circle", TRAIN, 0, "3 classes", links),
    Case(
        "zip with members outside",
        "train a.zip --out m",
        2,
        "points outside the archive",
        pack_outside("a.zip"),
    ),
    Case(
        "tar with members outside",
        "extract a.tar --out s",
        2,
        "points outside the archive",
        pack_outside("a.tar"),
    ),
    Case(
        "zip that is none",
        "train a.zip --out m",
        2,
        "a.zip is damaged or not an archive",
        lambda h, r: (h / "a.zip").write_bytes(b"PK"),
    ),
    Case(
        "compressed tar",
        "train a.tar.gz --out m",
        2,
        "a.tar.gz is compressed as a whole",
        lambda h, r: (h / "a.tar.gz").write_bytes(b"\x1f\x8b"),
    ),
    Case(
        "empty manifest", FROM_LIST, 2, "list.csv is empty", lambda h, r: (h / "list.csv").touch()
    ),
    Case(
        "manifest without a column",
        FROM_LIST,
        2,
        "no column label",
        manifest("a,b", header="path,klass"),
    ),
    Case(
        "manifest with bars",
        FROM_LIST,
        2,
        "separated by commas",
        manifest("a|b", header="path|label"),
    ),
    Case(
        "manifest of missing files",
        FROM_LIST,
        2,
        "none of its 2 files exists",
        manifest("x.png,a", "y.png,b"),
    ),
    Case(
        "manifest with a missing file",
        f"{FROM_LIST} --max-bad 0",
        1,
        "x.png (missing file)",
        manifest(*ROWS, "x.png,ant"),
    ),
    Case(
        "manifest with a missing file, allowed",
        f"{FROM_LIST} --max-bad 0.5",
        0,
        "2 classes",
        manifest(*ROWS, "x.png,ant"),
    ),
    Case(
        "manifest with a path twice",
        FROM_LIST,
        2,
        "list.csv, line 8",
        manifest(*ROWS, "pics/./ant/0.png,ant"),
    ),
    Case(
        "manifest with a group in two splits",
        FROM_LIST,
        2,
        "group 'g' is in train and in val",
        manifest(
            "pics/ant/0.png,ant,train,g",
            "pics/ant/1.png,ant,val,g",
            header="path,label,split,group",
        ),
    ),
    Case(
        "manifest with an unknown split",
        FROM_LIST,
        2,
        "split is 'dev'",
        manifest("pics/ant/0.png,ant,dev", header="path,label,split"),
    ),
    Case(
        "manifest with a ragged line", FROM_LIST, 2, "list.csv, line 2: 3 cells", manifest("a,b,c")
    ),
    Case(
        "manifest in Latin-1",
        FROM_LIST,
        2,
        "not UTF-8",
        lambda h, r: (h / "list.csv").write_bytes(b"path,label\n\xe9,\xe9\n"),
    ),
    Case("manifest of one class", FROM_LIST, 2, "at least two classes", manifest(*ROWS[:3])),
    *(
        Case(
            f"manifest with only {split} images",
            FROM_LIST,
            2,
            "list.csv has no training images",
            manifest(*(f"{row},{split}" for row in ROWS), header="path,label,split"),
        )
        for split in ("test", "val")
    ),
    *(
        Case(
            f"a pipe instead of {name}",
            f"train {name} --out m {QUICK}",
            2,
            f"{name} is not a regular file",
            lambda h, r, name=name: os.mkfifo(h / name),
        )
        for name in ("list.csv", "images.zip", "images.tar")
    ),
    Case(
        "manifest that is a link to a file of the kernel",
        FROM_LIST,
        2,
        "list.csv is not a regular file",
        lambda h, r: (h / "list.csv").symlink_to("/proc/kmsg"),
    ),
    *(
        Case(
            f"images smaller than a patch or of one colour{options}",
            f"{TRAIN}{options}",
            0,
            "3 classes",
            degenerate,
        )
        for options in (
            "",
            " --descriptor sift+colour --whiten --weights",
            " --signature bov --map chi2 --soft",
            " --signature bov --map intersection-pca",
            " --signature vlad --within --descriptor colour",
        )
    ),
    *(
        Case(
            f"images of one colour only{options}",
            f"{TRAIN}{options}",
            status,
            says,
            lambda h, r: [
                (h / "images" / "ant").mkdir(parents=True),
                (h / "images" / "bee").mkdir(),
                *(
                    Image.new("L", (40, 40), 99).save(h / "images" / name / f"{i}.png")
                    for name in ("ant", "bee")
                    for i in range(6)
                ),
            ],
        )
        for options, status, says in (
            ("", 2, "gave no descriptors"),
            (" --descriptor colour", 0, "2 classes"),
            (" --descriptor colour --signature bov --map intersection-pca", 2, "same histogram"),
        )
    ),
    Case(
        "more Gaussians than descriptors",
        "train images --out m --components 4000 --regions 1 --step 60",
        2,
        "too few for a vocabulary of 4000",
        images(n=2),
    ),
]
