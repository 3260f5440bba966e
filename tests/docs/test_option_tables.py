"""The tables of options on the page of ``train`` show the defaults that the options state."""

import re

import pytest

from myriad.cli.methods import collect_options
from tests.docs.pages import DOCS

ROW = re.compile(r"\| (?P<flags>`--[^|]+) \| (?P<default>[^|]*?) ?\|")
OPTIONS = collect_options()


def read_rows() -> list[tuple[str, str]]:
    """Return flag and default of every row of a table of options."""
    found = []
    for line in (DOCS / "verbs" / "train.md").read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row:
            default = row["default"].replace("`", "").strip()
            found += [(flag, default) for flag in re.findall(r"`(--[a-z0-9-]+)`", row["flags"])]
    return found


@pytest.mark.parametrize("name", OPTIONS)
def test_defaults_on_the_page_are_those_of_the_options(name: str) -> None:
    options = OPTIONS[name].values()
    flags = {flag for option in options for flag in (option.flag, *option.aliases)}
    flags |= {f"--no-{option.flag[2:]}" for option in options if option.is_flag and option.default}
    shown = [default for flag, default in read_rows() if flag in flags]
    known = {"" if option.is_flag else option.shown_default for option in options}
    assert shown, "the page has no row for the option"
    assert set(shown) <= known
