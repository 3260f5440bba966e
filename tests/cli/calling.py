"""Calls of a command in a process of its own, as a shell makes them."""

import os
import subprocess
import sys
from pathlib import Path

import myriad
from tests.signals import interruptible_python

TOY = str(Path(__file__).with_name("toy.py"))
REAL = "myriad.cli.main"


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a plain shell in which myriad can be imported."""
    kept = {name: value for name, value in os.environ.items() if name != "MYRIAD_DEBUG"}
    paths = [str(Path(folder).parent) for folder in myriad.__path__]
    paths += [kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else []
    return kept | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "80"} | more


def call_toy(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOY, *arguments],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def start_toy(*arguments: str, **streams: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        interruptible_python(TOY, *arguments),
        env=environment(),
        text=True,
        stdin=subprocess.DEVNULL,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )
