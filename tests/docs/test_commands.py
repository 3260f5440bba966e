"""Every command and every Python block on every page does what the page says."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.docs.comparison import match
from tests.docs.pages import DOCS, INSTALLING, PAGES, ROOT, read_blocks
from tests.docs.running import Reader
from tests.docs.sample import TRAINED, make_sample
from tests.sharing import make_once

NAMES = [path.relative_to(DOCS).as_posix() for path in PAGES]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        make_sample(folder)
        ended = Reader(folder).run(TRAINED)
        assert ended.status == 0, ended.err

    return make_once(tmp_path_factory, "sample", make)


def blocks_of(name: str):
    return read_blocks((DOCS / name).read_text(encoding="utf-8").splitlines())


LONG = {"index.md", "gallery.md", "cluster.md", "guides/cluster.md", "guides/paper.md"}
LONG |= {f"verbs/{name}.md" for name in ("compare", "compress", "demo", "extract")}
LONG |= {"guides/rare-species.md", "python.md"}


def mark_long(name: str):
    return pytest.param(name, marks=pytest.mark.long) if name in LONG else name


@pytest.mark.parametrize("name", [mark_long(name) for name in NAMES if blocks_of(name)])
def test_page(name: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pages describe the same images by the same network.
    monkeypatch.setenv("MYRIAD_CACHE_DIR", str(sample.with_name("rows of networks")))
    folder = tmp_path / "page"
    shutil.copytree(sample, folder)
    reader = Reader(folder)
    blocks = blocks_of(name)
    for block, below in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language == "console":
            for text, shown, ended in reader.run_console(block):
                check_lines(f"{name}: $ {text}", shown, ended.lines)
        elif block.language == "python":
            printed = reader.run_python(block)
            if below and below.language == "text" and below.start <= block.end + 2:
                check_lines(f"{name}, line {block.start + 1}", below.lines, printed)


def check_lines(where: str, shown: list[str], found: list[str]) -> None:
    if shown:
        assert match(shown, found) is not None, "\n".join([where, *found])


@pytest.mark.parametrize("name", NAMES)
def test_no_command_escapes(name: str) -> None:
    for block in blocks_of(name):
        assert block.language in {"console", "python", "text", "sh"}
        if block.language == "sh":
            assert set(block.lines) <= INSTALLING
        if block.language == "text":
            typed = [line for line in block.lines if re.match(r"(\$|>>>|myriad|pip) ", line)]
            assert not typed


def test_installing_is_as_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in INSTALLING:
        for extra in re.findall(r"\[(\w+)\]", command):
            assert extra in project["optional-dependencies"]
        if "&&" in command:
            assert command in readme


def test_a_failing_command_fails_the_page(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    (block,) = read_blocks(["```console", "$ myriad evaluate nothing nowhere", "```"])
    with pytest.raises(AssertionError, match="nothing"):
        reader.run_console(block)
    (block,) = read_blocks(
        ["```console", "$ myriad evaluate nothing nowhere", "$ echo $?", "2", "```"]
    )
    (_, _, ended), (_, shown, status) = reader.run_console(block)
    assert ended.status == 2
    assert status.lines == shown
