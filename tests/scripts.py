"""Run a script of the repository in this process: starting Python anew takes seconds."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run_script(monkeypatch: pytest.MonkeyPatch, name: str, *words: object) -> None:
    """Run a script by its path in the repository, as a program with these arguments."""
    path = ROOT / name
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *map(str, words)])
        patch.setattr(sys, "path", [str(path.parent), *sys.path])
        runpy.run_path(str(path), run_name="__main__")
