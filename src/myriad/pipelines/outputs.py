"""Where results go: what is there already is never overwritten by mistake."""

from __future__ import annotations

import shutil
from pathlib import Path

from myriad.errors import InputError

MARKS = ("config.json", "store.json", "plan.json")
"""Files by which a folder is known to have been written by myriad."""


def prepare_output(folder: Path, *, overwrite: bool, resume: bool = False) -> None:
    """Make sure that `folder` may be written to.

    A folder with anything in it is refused unless the caller may overwrite it (then it is emptied,
    but only if myriad wrote it) or resume the work in it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the output.")
    if folder.is_dir() and any(folder.iterdir()):
        if resume:
            return
        if not overwrite:
            raise InputError(f"{folder} exists. Use --overwrite to replace it, or another name.")
        if not any((folder / mark).exists() for mark in MARKS):
            raise InputError(
                f"{folder} was not written by myriad, so --overwrite does not replace it. "
                "Remove it yourself, or use another name."
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
