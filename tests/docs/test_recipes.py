"""The tables of the page of recipes are those that the files of results give."""

import subprocess
import sys

from tests.docs.pages import DOCS, ROOT

BEGIN, END = "<!-- tables: written by a command -->", "<!-- end of tables -->"


def test_the_tables_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "recipes" / "highly_multiclass_tables.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (DOCS / "recipes.md").read_text(encoding="utf-8")
    shown = page.split(BEGIN)[1].split(END)[0]
    assert shown.strip() == printed.strip(), f"{' '.join(command[1:])} docs/recipes.md writes them"
