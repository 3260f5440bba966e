"""The tables of options on the pages of the verbs, derived from the options of the command.

A table is what stands between two comments on the page of a verb::

    <!-- options: Low rank: trace -->
    <!-- end of options -->

The comment names a panel of ``--help``. The table ``options`` without a name takes every option
that no other table of the page takes. How images become rows is a panel of its own on each page
that names it, although only ``train --help`` shows it as one.

A row has the flags, the default and the help of an option. Nobody writes these by hand:
``python -m tests.docs.refresh --options`` does. What follows ``<br>`` in a row is kept: it is what
the page adds to the help, such as a link.
"""

import functools
import re
from pathlib import Path

from click import Group, Parameter
from typer.main import get_command

from myriad.cli.main import app
from myriad.pipelines.describing.options import extraction_options
from tests.docs.pages import DOCS

IMAGES = "From images to vectors"
_TABLE = re.compile(r"(<!-- options(?:: (.*?))? -->\n)(.*?)(<!-- end of options -->)", re.DOTALL)
_ROW = re.compile(r"^\| `(--[\w-]+)`.*?<br>(.*) \|$", re.MULTILINE)
_HEAD = "| option | default | |\n|---|---|---|\n"


def page_of(verb: str) -> Path:
    """Return the page of a verb."""
    return DOCS / "verbs" / f"{verb}.md"


@functools.cache
def _make_command() -> Group:
    return get_command(app)  # type: ignore[return-value]


def read_options(verb: str) -> list[Parameter]:
    """Return the options of a verb, without its arguments."""
    command = _make_command().commands[verb]
    options = [one for one in command.params if one.param_type_name == "option"]
    return [one for one in options if "--help" not in one.opts]


def list_flags(option: Parameter) -> list[str]:
    """Return the flags of an option, the long ones first."""
    flags = [*option.opts, *option.secondary_opts]
    return sorted(flags, key=lambda flag: not flag.startswith("--"))


def show_default(option: Parameter) -> str:
    """Return the default of an option as the table shows it."""
    stated = getattr(option, "show_default", None)
    if option.required:
        return "required"
    if isinstance(stated, str):
        return stated
    if stated is False or isinstance(option.default, bool):
        return ""
    if isinstance(option.default, float):
        return f"{option.default:g}"
    return f"{option.default}" if isinstance(option.default, int | str | Path) else ""


def make_row(option: Parameter, note: str | None) -> str:
    """Return the row of an option."""
    flags = ", ".join(f"`{flag}`" for flag in list_flags(option))
    text = getattr(option, "help", None) or ""
    text = f"{text}<br>{note}" if note else text
    default = show_default(option)
    return f"| {flags} | {default} | {text} |" if default else f"| {flags} | | {text} |"


def fill_tables(text: str, verb: str) -> str:
    """Return the text of the page of a verb with its tables written anew."""
    titles = [found[2] for found in _TABLE.finditer(text)]
    notes = dict(_ROW.findall(text))
    rows: dict[str | None, list[str]] = {title: [] for title in titles}
    for option in read_options(verb):
        panel = getattr(option, "rich_help_panel", None)
        panel = IMAGES if IMAGES in rows and option.name in extraction_options() else panel
        note = next((notes[flag] for flag in list_flags(option) if flag in notes), None)
        rows.setdefault(panel if panel in rows else None, []).append(make_row(option, note))
    missing = rows.keys() - set(titles)
    assert not missing, f"the page of {verb} needs <!-- options --> and <!-- end of options -->"

    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}\n{_HEAD}" + "\n".join([*rows[found[2]], "", found[4]])

    return _TABLE.sub(fill, text)


def write_tables(path: Path) -> None:
    """Write the tables of a page anew, where it is the page of a verb."""
    if path.parent == DOCS / "verbs":
        text = path.read_text(encoding="utf-8")
        path.write_text(fill_tables(text, path.stem), encoding="utf-8")
