"""The tables of pages are those that the files of results give."""

import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, ROOT

BEGIN, END = "<!-- tables: written by a command -->", "<!-- end of tables -->"


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        ("highly_multiclass_tables", "recipes.md"),
        ("calibration_tables", "probabilities.md"),
        ("evidence", "evidence.md"),
    ],
)
def test_the_tables_are_those_of_the_results(recipe: str, name: str) -> None:
    command = [sys.executable, str(ROOT / "recipes" / f"{recipe}.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (DOCS / name).read_text(encoding="utf-8")
    shown = page.split(BEGIN)[1].split(END)[0]
    assert shown.strip() == printed.strip(), f"{' '.join(command[1:])} docs/{name} writes them"
