"""A file of results by name, from which an interrupted recipe resumes."""

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from record import describe_run, write_results

from myriad.errors import MyriadError

__all__ = [
    "Results",
    "describe_run",
    "fill_page",
    "keep_folder",
    "make_folder",
    "make_parser",
    "need",
    "run_recipe",
    "show",
    "write_results",
]

ORIGIN = ("machine", "commit", "date")
INTERRUPTED = 130
"""Exit status of a program that was interrupted, as shells have it."""


class Results:
    """Results by name, written to a file as soon as each is known.

    Parameters
    ----------
    path : the JSON file; None to keep nothing.
    described : what the results depend on; a file that says otherwise is refused.
    """

    def __init__(self, path: Path | None, described: dict[str, Any]) -> None:
        self._path, self._described = path, described
        self.cells: dict[str, Any] = {}
        if path is None:
            return
        require_writable(path)
        if not path.exists():
            return
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            cells = kept["cells"]
        except (ValueError, LookupError, TypeError):
            sys.exit(f"{path} is not a file of results: choose another file for --out.")
        for name, value in described.items():
            if kept.get(name, value) != value:
                sys.exit(
                    f"{path} holds results of another call ({name}: {kept[name]}, not {value}): "
                    "choose another file for --out."
                )
        self.cells = cells

    def fill(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a result, computed if it is not known yet, with machine, commit and date."""
        if name not in self.cells:
            self.cells[name] = compute() | describe_run()
            self._write()
        found: dict[str, Any] = self.cells[name]
        return found

    def _write(self) -> None:
        if self._path is None:
            return
        beside = self._path.with_suffix(".part")
        content = {**self.describe(), "cells": self.cells}
        text = json.dumps(content, indent=1, default=str)
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(self._path)

    def describe(self) -> dict[str, Any]:
        """Return what stands before the results in the file."""
        return self._described


def require_writable(path: Path) -> None:
    """End the program, before hours of work, where a file cannot be written."""
    if path.is_dir():
        sys.exit(
            f"{path} is a folder: --out is a file of results, such as {path / 'results.json'}."
        )
    make_folder(path.parent)
    beside = path.with_suffix(".part")
    try:
        beside.touch()
        beside.unlink()
    except OSError as error:
        sys.exit(f"{path} cannot be written: {error.strerror}.")


def make_folder(path: Path) -> None:
    """Make a folder, or end the program and say why it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"The folder {path} cannot be made: {error.strerror}.")


def show(cell: dict[str, Any]) -> str:
    """Return the values of a result as text, without machine, commit and date."""
    return ", ".join(f"{name} {value}" for name, value in cell.items() if name not in ORIGIN)


class Help(argparse.RawDescriptionHelpFormatter):
    """Shows a text as it is, and the default of each option that has one."""

    def _get_help_string(self, action: argparse.Action) -> str:
        shown = action.help or ""
        if action.default in (None, False, "", argparse.SUPPRESS):
            return shown
        return f"{shown} (default: %(default)s)".strip()


def make_parser(text: str) -> argparse.ArgumentParser:
    """Return a parser whose help begins with the first lines of a recipe: commands and results."""
    return argparse.ArgumentParser(description=text.strip(), formatter_class=Help)


def run_recipe(main: Callable[[], None]) -> None:
    """Run a recipe; end it with a sentence if it is interrupted or cannot go on."""
    try:
        main()
    except KeyboardInterrupt:
        print(
            "\nInterrupted. What is in the file of --out stays there; the same command continues.",
            file=sys.stderr,
        )
        sys.exit(INTERRUPTED)
    except MyriadError as error:
        sys.exit(str(error))


def fill_page(page: Path | None, tables: dict[str, str]) -> None:
    """Write tables between the marks of their names on a page, or print them if there is none.

    The empty path, what `--table` is without a page, prints them too.

    A table ``copies`` belongs between ``<!-- copies: written by a command -->`` and
    ``<!-- end of copies -->``.
    """
    if page is None or page == Path():
        print("\n\n".join(tables.values()))
        return
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        before, mark, rest = text.partition(f"<!-- {name}: written by a command -->")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not end:
            sys.exit(f"{page} has no place for the table of {name}.")
        text = f"{before}{mark}\n\n{table}\n\n{end}{after}"
    page.write_text(text, encoding="utf-8")


def keep_folder(path: Path | None, *, quick: bool) -> Path:
    """Return the folder that keeps the work of a recipe; a temporary one for a quick run."""
    if path is None:
        if not quick:
            sys.exit("--out is missing: a folder that keeps the results.")
        path = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, path, ignore_errors=True)
    path.mkdir(parents=True, exist_ok=True)
    return path


def need(path: Path | None, what: str) -> Path:
    """Return the path of data that a recipe needs, or end the program and say what is missing."""
    if path is None or not path.exists():
        where = "--data is missing" if path is None else f"{path} does not exist"
        sys.exit(f"{where}: this recipe needs {what}. Use --quick to try it on built-in data.")
    return path
