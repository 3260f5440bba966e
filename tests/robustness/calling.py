"""Calls of the command: in this process, which is fast, or in a subprocess, as a shell does."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import myriad
from tests.commands import run_command
from tests.signals import interruptible_python

QUICK = "--components 2 --regions 1 --step 12 --epochs 2 --eta 0.1 --beta 1"
"""Options with which training is fast."""


@dataclass(frozen=True)
class Called:
    status: int
    out: str
    err: str


def call(*arguments: object) -> Called:
    """Run the command in this process."""
    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command(words)
    return Called(status, out.getvalue(), err.getvalue())


def call_in(folder: Path, *arguments: object) -> Called:
    """Run the command in this process, with a folder as the current one."""
    with contextlib.chdir(folder):
        return call(*arguments)


def environment() -> dict[str, str]:
    """Return the environment of a subprocess that imports the package under test."""
    kept = {name: value for name, value in os.environ.items() if name != "MYRIAD_DEBUG"}
    paths = [str(Path(folder).parent) for folder in myriad.__path__]
    return kept | {"PYTHONPATH": os.pathsep.join(paths)}


def start(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """Start the command in a subprocess."""
    return subprocess.Popen(
        interruptible_python("-m", "myriad.cli.main", *arguments),
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call_subprocess(*arguments: object, cwd: Path) -> Called:
    """Run the command in a subprocess."""
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=120)
    return Called(process.returncode, out, err)
