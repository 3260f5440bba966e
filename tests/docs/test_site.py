"""The documentation builds without a warning, and fetches nothing from elsewhere."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT
from tests.docs.pictures import MOST_BYTES

BUILT = find_spec("zensical") is not None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not BUILT:
        pytest.skip('zensical is not installed: pip install -e ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in PAGES:
        name = page.relative_to(DOCS).with_suffix("")
        place = site / name.parent if name.name == "index" else site / name
        assert (place / "index.html").is_file()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r'<(?:script|img|iframe)[^>]*\ssrc="?(https?:)?//|url\((https?:)?//')
    styles = re.compile(r'<link[^>]*rel="?(?:stylesheet|preconnect)"?[^>]*href="?(https?:)?//')
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not fetched.search(text), page
        assert not styles.search(text), page


def test_citations_are_links(site: Path) -> None:
    """Markdown takes ``[[GP], 5.1]`` for text: a link inside brackets is none."""
    for page in site.rglob("*.html"):
        assert not re.search(r"\[\[[A-Z]{2,3}\]", page.read_text(encoding="utf-8")), page


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            assert found.is_file(), f"{page}: {target}"
            todo.append(found)
    assert set(PAGES) - reached == set()


def test_every_picture_is_there_and_described() -> None:
    used = set()
    for page in PAGES:
        for text, target in re.findall(r"!\[(.*?)\]\((\S+?)\)", page.read_text(encoding="utf-8")):
            assert len(text) > 10, f"{page}: {target} needs a description"
            used.add((page.parent / target).resolve())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    used |= {ROOT / target for target in re.findall(r"!\[.*?\]\((\S+?)\)", readme)}
    assert used == set((DOCS / "images").rglob("*.png"))
    assert sum(path.stat().st_size for path in used) < MOST_BYTES


def test_search_needs_no_server(site: Path) -> None:
    assert (site / "search.json").stat().st_size > 50_000


def test_every_page_is_in_the_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f": {page.relative_to(DOCS).as_posix()}\n" in contents, page
