"""The table of bad cases: each row is a situation, a command and what must come of it."""

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
    name : what the situation is.
    make : brings it about in an empty folder, its first argument; the second is the folder with
        images and models of `conftest.py`.
    command : a line for the shell, run in that folder.
    status : the exit status that must come of it.
    says : a phrase of what is said on stderr (or in the error of ``--json``); a failure must name
        the file or the option. Where the work succeeds, a phrase of stdout or stderr.
    replaces : paths that a command that succeeds may change or remove. A command that fails may
        change nothing that was there before.
    patch : what else must be pretended, such as a full disk.
    """

    name: str
    command: str
    status: int
    says: str
    make: Make = nothing
    replaces: tuple[str, ...] = ()
    patch: Callable[[pytest.MonkeyPatch], object] | None = None
