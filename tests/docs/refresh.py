"""Run all pages and write what their commands print into them: ``python -m tests.docs.refresh``.

Lines that a page shows and that fit what was printed are replaced by what was printed; where they
do not fit, all that was printed takes their place. The tables of options are written as well.

``python -m tests.docs.refresh verbs/train.md`` refreshes one page;
``python -m tests.docs.refresh --options`` writes the tables of options, the Python reference
and the comparison of the README alone, which runs nothing.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.docs.api_reference import PAGE, write_page
from tests.docs.comparison import match
from tests.docs.option_tables import write_tables
from tests.docs.pages import DOCS, PAGES, read_blocks
from tests.docs.readme_table import fill_pages
from tests.docs.running import Reader
from tests.docs.sample import TRAINED, make_sample


def refresh_page(path: Path, folder: Path) -> None:
    """Run one page and write its output into it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    reader = Reader(folder)
    blocks = read_blocks(lines)
    replaced: dict[int, list[str]] = {}
    for number, block in enumerate(blocks):
        if block.language == "console":
            written: list[str] = []
            for text, shown, ended in reader.run_console(block):
                kept = match(shown, ended.lines) if shown else []
                written += [f"$ {text}", *(ended.lines if kept is None else kept)]
            replaced[number] = written
        elif block.language == "python":
            printed = reader.run_python(block)
            below = blocks[number + 1] if number + 1 < len(blocks) else None
            if below and below.language == "text" and below.start <= block.end + 2:
                kept = match(below.lines, printed)
                replaced[number + 1] = printed if kept is None else kept
    for number in sorted(replaced, reverse=True):
        block = blocks[number]
        lines[block.start + 1 : block.end] = [line.rstrip() for line in replaced[number]]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def refresh_all(names: list[str]) -> None:
    """Refresh the pages whose names are given, or all."""
    with tempfile.TemporaryDirectory() as place:
        sample = Path(place) / "sample"
        make_sample(sample)
        assert Reader(sample).run(TRAINED).status == 0
        for path in PAGES:
            name = path.relative_to(DOCS).as_posix()
            if names and name not in names:
                continue
            folder = Path(place) / "page"
            shutil.copytree(sample, folder)
            print(name, flush=True)
            refresh_page(path, folder)
            shutil.rmtree(folder)


if __name__ == "__main__":
    for page in PAGES:
        write_tables(page)
    PAGE.write_text(write_page(), encoding="utf-8")
    fill_pages()
    if sys.argv[1:] != ["--options"]:
        refresh_all(sys.argv[1:])
