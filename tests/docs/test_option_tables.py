"""The tables of options on the pages are those of the command and of the Python classes."""

import inspect
import re

import pytest

from myriad import LinearSGD
from myriad.cli.main import VERBS
from tests.docs.option_tables import (
    fill_tables,
    list_flags,
    make_row,
    page_of,
    read_options,
    show_default,
)
from tests.docs.pages import DOCS

TRAIN = {flag: option for option in read_options("train") for flag in list_flags(option)}


def read_page(verb: str) -> str:
    return page_of(verb).read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", VERBS)
def test_the_tables_are_derived_from_the_command(verb: str) -> None:
    text = read_page(verb)
    assert fill_tables(text, verb) == text, "python -m tests.docs.refresh --options writes them"


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_one_row(verb: str) -> None:
    rows = re.findall(r"^\| (`--?[a-z0-9-]+`[^|]*) \|", read_page(verb), re.MULTILINE)
    shown = [flag for row in rows for flag in re.findall(r"`(--?[a-z0-9-]+)`", row)]
    assert sorted(shown) == sorted(f for one in read_options(verb) for f in list_flags(one))


@pytest.mark.parametrize("verb", VERBS)
def test_the_text_names_no_option_that_the_verb_lacks(verb: str) -> None:
    named = set(re.findall(r"`(--[a-z0-9-]+)", read_page(verb)))
    known = {flag for option in read_options(verb) for flag in list_flags(option)}
    assert named <= known


@pytest.mark.parametrize(
    ("flag", "default"),
    [
        ("--out", "required"),
        ("--seed", "0"),
        ("--max-bad", "0.05"),
        ("--epochs", "50; topk, dual, primal, toppush, recall: 300"),
        ("--overwrite", ""),
        ("--cluster", ""),
        ("--replacement", "replacement"),
    ],
)
def test_defaults_are_those_of_the_command(flag: str, default: str) -> None:
    assert show_default(TRAIN[flag]) == default


def test_a_row_keeps_what_the_page_adds() -> None:
    row = make_row(TRAIN["--quiet"], "See [below](#here).")
    assert row == ("| `--quiet`, `-q` | | Show no progress and no notes.<br>See [below](#here). |")
    filled = fill_tables(f"<!-- options -->\n{row}\n<!-- end of options -->\n", "train")
    assert filled.count("<br>") == 1
    assert row in filled
    assert fill_tables(filled, "train") == filled


def test_a_table_takes_the_options_of_its_panel() -> None:
    empty = "<!-- options{} -->\n<!-- end of options -->\n"
    first, second = fill_tables(
        empty.format(": Low rank: trace") + empty.format(""), "train"
    ).split("<!-- end of options -->\n")[:2]
    assert "`--gauge`" in first
    assert "`--gauge`" not in second
    assert "`--seed`" in second


def test_the_parameters_on_the_page_of_python_are_those_of_the_class() -> None:
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| ", page, re.MULTILINE)
    known = inspect.signature(LinearSGD).parameters
    assert len(rows) > 10
    for name, shown in rows:
        default = known[name].default
        expected = "one per core" if default is None else repr(default).replace("'", '"')
        assert shown.strip("`") == expected, name
