"""The tables of pages are those that the files of results give."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.docs.readme_table import PAGES, fill_table
from tests.robustness import campaign_record
from tests.scripts import run_script

MARKS = "<!-- tables: written by a command -->", "<!-- end of tables -->"
VERDICTS = "<!-- verdicts: written by a command -->", "<!-- end of verdicts -->"
PHOTOGRAPHS = "<!-- photographs: written by a command -->", "<!-- end of photographs -->"
SETTINGS = "<!-- settings: written by a command -->", "<!-- end of settings -->"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_comparison_with_other_trainers_is_that_of_the_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "comparison: written by a command" in text
    assert fill_table(text, PAGES[page]) == text, "python -m tests.docs.refresh --options writes it"


def test_the_counts_of_the_guarantees_are_those_of_the_campaigns() -> None:
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    assert "campaign: written by a command" in text
    assert campaign_record.fill_table(text) == text


@pytest.mark.parametrize(
    ("recipe", "name", "marks"),
    [
        ("highly_multiclass_tables.py", "recipes.md", MARKS),
        ("calibration_tables.py", "probabilities.md", MARKS),
        ("photographs.py --table", "recipes.md", PHOTOGRAPHS),
        ("fisher_settings.py --table", "recipes.md", SETTINGS),
    ],
)
def test_the_tables_are_those_of_the_results(
    recipe: str, name: str, marks: tuple[str, str], monkeypatch, capsys
) -> None:
    run_script(monkeypatch, *f"recipes/{recipe}".split())
    printed = capsys.readouterr().out
    page = (DOCS / name).read_text(encoding="utf-8")
    shown = page.split(marks[0])[1].split(marks[1])[0]
    assert shown.strip() == printed.strip(), f"recipes/{recipe} docs/{name} writes them"


def test_the_evidence_is_that_of_the_results(monkeypatch, capsys) -> None:
    run_script(monkeypatch, "recipes/evidence.py")
    printed = capsys.readouterr().out
    page = (DOCS / "evidence.md").read_text(encoding="utf-8")
    shown = [page.split(begin)[1].split(end)[0].strip() for begin, end in (VERDICTS, MARKS)]
    assert "\n\n".join(shown) == printed.strip(), "recipes/evidence.py docs/evidence.md writes it"


@pytest.mark.parametrize(
    ("recipe", "name"),
    [("data_faults", "check.md"), ("extending", "extend.md"), ("next_labels", "predict.md")],
)
def test_the_tables_of_commands_are_those_of_the_results(
    recipe: str, name: str, monkeypatch, capsys
) -> None:
    run_script(monkeypatch, f"recipes/{recipe}.py", "--table")
    printed = capsys.readouterr().out
    page = (DOCS / "verbs" / name).read_text(encoding="utf-8")
    for table in printed.split("\n\n"):
        assert table.strip() in page, f"recipes/{recipe}.py --table docs/verbs/{name} writes it"


def test_the_differences_in_the_guide_of_objectives_are_measured() -> None:
    guide = (DOCS / "guides" / "objective.md").read_text(encoding="utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| `")]
    stated = [number for row in rows for number in re.findall(r"[−+]\d+\.\d+(?: ± [\d.]+)?", row)]
    evidence = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert len(stated) >= 5
    assert [number for number in stated if number not in evidence] == []
