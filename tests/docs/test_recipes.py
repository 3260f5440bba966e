"""The tables of pages are those that the files of results give."""

import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.docs.readme_table import README, fill_table

BEGIN, END = "<!-- tables: written by a command -->", "<!-- end of tables -->"


def test_the_comparison_of_the_readme_is_that_of_the_results() -> None:
    text = README.read_text(encoding="utf-8")
    assert "written by a command" in text
    assert fill_table(text) == text, "python -m tests.docs.refresh --options writes it"


@pytest.mark.parametrize(
    ("recipe", "name"),
    [("highly_multiclass_tables", "recipes.md"), ("calibration_tables", "probabilities.md")],
)
def test_the_tables_are_those_of_the_results(recipe: str, name: str) -> None:
    command = [sys.executable, str(ROOT / "recipes" / f"{recipe}.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (DOCS / name).read_text(encoding="utf-8")
    shown = page.split(BEGIN)[1].split(END)[0]
    assert shown.strip() == printed.strip(), f"{' '.join(command[1:])} docs/{name} writes them"
