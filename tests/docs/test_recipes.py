"""The tables of pages are those that the files of results give."""

import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.docs.readme_table import README, fill_table

MARKS = "<!-- tables: written by a command -->", "<!-- end of tables -->"
PHOTOGRAPHS = "<!-- photographs: written by a command -->", "<!-- end of photographs -->"
SETTINGS = "<!-- settings: written by a command -->", "<!-- end of settings -->"


def test_the_comparison_of_the_readme_is_that_of_the_results() -> None:
    text = README.read_text(encoding="utf-8")
    assert "written by a command" in text
    assert fill_table(text) == text, "python -m tests.docs.refresh --options writes it"


@pytest.mark.parametrize(
    ("recipe", "name", "marks"),
    [
        ("highly_multiclass_tables.py", "recipes.md", MARKS),
        ("calibration_tables.py", "probabilities.md", MARKS),
        ("photographs.py --table", "recipes.md", PHOTOGRAPHS),
        ("fisher_settings.py --table", "recipes.md", SETTINGS),
        ("evidence.py", "evidence.md", MARKS),
    ],
)
def test_the_tables_are_those_of_the_results(
    recipe: str, name: str, marks: tuple[str, str]
) -> None:
    script, *options = recipe.split()
    command = [sys.executable, str(ROOT / "recipes" / script), *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (DOCS / name).read_text(encoding="utf-8")
    shown = page.split(marks[0])[1].split(marks[1])[0]
    assert shown.strip() == printed.strip(), f"{' '.join(command[1:])} docs/{name} writes them"
