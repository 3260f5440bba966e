"""A fallback folder for compiled kernels if installation and home folder cannot be written.

Cached kernels are machine code that is executed when loaded. So the fallback is a folder in the
temporary folder that only its owner or root can write to or replace; without such a folder nothing
is cached.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

NUMBA_FOLDER = "NUMBA_CACHE_DIR"
"""The environment variable of Numba for the folder of its cache."""
REPORTED = "MYRIAD_KERNEL_CACHE_REPORTED"
"""Environment variable that prevents worker processes from repeating the report."""
LONG_COMPILING = 3.0
"""Seconds of compiling after which the user is told."""
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def _warn(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=2)


_report: Callable[[str], None] = _warn
_seconds = 0.0


@contextmanager
def report_to(function: Callable[[str], None]) -> Iterator[None]:
    """Within this context, pass notes on the cache to a function instead of warning."""
    global _report
    before, _report = _report, function
    try:
        yield
    finally:
        _report = before


def report_compiling(seconds: float) -> None:
    """Add to the time spent compiling; report once to the user why a first run is slow.

    Only users of the command are notified; see `report_to`.
    """
    global _seconds
    before, _seconds = _seconds, _seconds + seconds
    if before < LONG_COMPILING <= _seconds and _report is not _warn:
        _report(
            "Kernels are compiled for this processor, which can take a minute in all. They are "
            "cached: later runs start at once."
        )


@cache
def fallback_folder() -> Path | None:
    """Return the fallback folder, or None if there is no safe one, and report it once.

    The environment variable of Numba is set to the folder, so that worker processes share it.
    """
    given = os.environ.get(NUMBA_FOLDER)
    reason = "Neither the installation nor the home folder can be written"
    if given:
        reason += f", nor can {given}, the value of {NUMBA_FOLDER}"
    folder = make_private_folder()
    if folder is None:
        effect = "each run compiles its kernels again, which takes a while"
    else:
        effect = f"compiled kernels are cached in {folder}"
        os.environ[NUMBA_FOLDER] = str(folder)
    if not os.environ.get(REPORTED):
        os.environ[REPORTED] = "1"
        _report(f"{reason}: {effect}. Set {NUMBA_FOLDER} to use a folder of your choice.")
    return folder


def make_private_folder() -> Path | None:
    """Return the private folder of this user in the temporary folder; None if it is unsafe."""
    if not hasattr(os, "geteuid"):  # no owners and modes to check, as on Windows
        return None
    try:
        folder = Path(tempfile.gettempdir()).resolve() / f"myriad-kernels-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if not is_private(folder):
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def is_private(folder: Path) -> bool:
    """Return whether only this user, or root, can write to a folder or replace it.

    The folder itself must be a folder, not a link, that belongs to the user and has mode 0700. Each
    parent folder must belong to the user or root, and either not be writable by others or be sticky
    like /tmp, where others can neither remove nor rename files that are not theirs.
    """
    own = folder.lstat()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid() or own.st_mode & 0o077:
        return False
    for parent in folder.parents:
        above = parent.lstat()
        if above.st_uid not in (0, os.geteuid()):
            return False
        if above.st_mode & _WRITABLE_BY_OTHERS and not above.st_mode & stat.S_ISVTX:
            return False
    return True
