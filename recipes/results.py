"""A file of results by name, from which an interrupted recipe resumes."""

from __future__ import annotations

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

__all__ = ["Results", "describe_run", "fill_page", "keep_folder", "need", "write_results"]


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
        if path is None or not path.exists():
            return
        kept = json.loads(path.read_text(encoding="utf-8"))
        if any(kept.get(name, value) != value for name, value in described.items()):
            sys.exit(f"{path} holds results of another call: choose another file.")
        self.cells = kept["cells"]

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
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".part")
        content = {**self._described, "cells": self.cells}
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._path)


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
