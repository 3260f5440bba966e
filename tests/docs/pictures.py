"""Draw the pictures of the documentation: ``python -m tests.docs.pictures``.

The plots are those that ``docs/gallery.md`` saves. The screenshots show the report and the page of
a model of drawn letters, in Chromium, which must be installed. Pictures have few
colours, so that the repository stays small.

``python -m tests.docs.pictures gallery`` draws the plots alone; the others are ``screenshots``,
``labels`` (of the guide) and ``speed`` (the comparison on the README).
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib
from PIL import Image

from tests.docs.pages import DOCS, ROOT, read_blocks
from tests.docs.readme_table import draw_speed
from tests.docs.running import Reader
from tests.docs.sample import make_sample

IMAGES = DOCS / "images"
MOST_BYTES = 1_500_000
"""All pictures together."""
SHOWN = "myriad train letters --out alphabet --signature fisher --components 16 --search quick"
"""What trains the model of the screenshots, in a few seconds."""
STYLE = {"figure.figsize": (5.2, 3.8), "savefig.dpi": 96, "font.size": 10}


def draw_gallery(folder: Path) -> None:
    """Run the gallery and keep the plots that it saves."""
    reader = Reader(folder)
    with matplotlib.rc_context(STYLE):
        for block in read_blocks((DOCS / "gallery.md").read_text(encoding="utf-8").splitlines()):
            if block.language == "python":
                reader.run_python(block)
    for plot in sorted(folder.glob("*.png")):
        keep(plot, IMAGES / "gallery" / plot.name)


def draw_screenshots(folder: Path) -> None:
    """Take pictures of the report and of the page of a model of letters."""
    from tests.docs.screenshots import photograph_page, photograph_report

    given = os.environ.get("MYRIAD_SAMPLE")  # a folder in which this was done before
    sample = Path(given) if given else folder / "sample"
    if not given:
        make_sample(sample)
        assert Reader(sample).run(SHOWN).status == 0
    model = sample / "alphabet"
    for name, picture in {
        **photograph_report(model / "report.html", folder),
        **photograph_page(model, sample / "letters" / "test", folder),
    }.items():
        keep(picture, IMAGES / name)


def draw_labels(folder: Path) -> None:
    """Check labels as the guide does, and take a picture of those that are found."""
    from tests.docs.screenshots import photograph_section

    sample = folder / "sample"
    make_sample(sample)
    reader = Reader(sample)
    blocks = read_blocks((DOCS / "guides" / "labels.md").read_text("utf-8").splitlines())
    reader.run_python(blocks[0])
    reader.run_console(blocks[1])
    page = sample / "mixed.check" / "report.html"
    keep(photograph_section(page, "labels", folder), IMAGES / "labels.png")


def draw_comparison(folder: Path) -> None:
    """Draw the comparison with other trainers."""
    draw_speed(folder / "speed.png")
    keep(folder / "speed.png", IMAGES / "speed.png")


def keep(picture: Path, target: Path) -> None:
    """Copy a picture, with at most 128 colours."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(picture) as opened:
        opened.convert("RGB").quantize(128).save(target, optimize=True)


PICTURES: dict[str, Callable[[Path], None]] = {
    "gallery": draw_gallery,
    "screenshots": draw_screenshots,
    "labels": draw_labels,
    "speed": draw_comparison,
}


def main(names: list[str]) -> None:
    """Draw the pictures that are named, or all."""
    for name in names or PICTURES:
        with tempfile.TemporaryDirectory() as place:
            PICTURES[name](Path(place))
    total = sum(path.stat().st_size for path in IMAGES.rglob("*.png"))
    print(f"{total:,} bytes in {IMAGES.relative_to(ROOT)}")
    assert total < MOST_BYTES


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main(sys.argv[1:])
