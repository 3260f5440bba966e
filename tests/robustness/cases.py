"""The table of bad cases: each row is a situation, a command and the expected result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

Make = Callable[[Path, Path], object]


def nothing(here: Path, ready: Path) -> None:
    """Leave the folder empty."""


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes
    ----------
    name : the situation.
    make : creates the situation in an empty folder, its first argument; the second is the folder
        with images and models of `conftest.py`.
    command : a line for the shell, run in that folder.
    status : the expected exit status.
    says : a phrase of the message on stderr (or in the error of ``--json``); a failure must name
        the file or the option. Where the work succeeds, a phrase of stdout or stderr.
    replaces : paths that a command that succeeds may change or remove. A command that fails may
        change nothing that was there before.
    patch : simulates a condition, such as a full disk.
    """

    name: str
    command: str
    status: int
    says: str
    make: Make = nothing
    replaces: tuple[str, ...] = ()
    patch: Callable[[pytest.MonkeyPatch], object] | None = None
