"""Places that are no path of this machine but a URL, such as ``s3://bucket/rows.store``.

They are read through fsspec, which knows many protocols; what a protocol takes beyond it, such as
s3fs, is for the user to install. Nothing is written to them.
"""

from __future__ import annotations

import re
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

from myriad.errors import InputError

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]+::)*([a-z][a-z0-9+.-]+):/", re.IGNORECASE)
_OF_THIS_MACHINE = {"file", "local"}
_PLAIN: Any = type(Path())


class UrlPath(_PLAIN):
    """A path whose text is a URL: it has a name and a parent, and files below it.

    A plain path forgets one of two slashes; here both are written. It is the same on every machine.
    """

    def __str__(self) -> str:
        plain = super().__str__()
        found = _URL.match(plain)
        if found is None:  # a parent of all URLs
            return plain
        slashes = "//" if found.group(1).lower() in _OF_THIS_MACHINE else "/"
        return plain[: found.end()] + slashes + plain[found.end() :]

    def absolute(self) -> UrlPath:
        """Return the same place."""
        return self

    def resolve(self, strict: bool = False) -> UrlPath:
        """Return the same place."""
        return self


def as_path(path: str | Path) -> Path:
    """Return a place as a `UrlPath` if it is written as a URL, and a plain path otherwise.

    A path that has lost the second slash of its URL is taken for that URL, unless there is such a
    file on this machine.
    """
    if isinstance(path, UrlPath) or not _URL.match(str(path)) or Path(path).exists():
        return path if isinstance(path, Path) else Path(path)
    return UrlPath(path)


def path_exists(path: Path) -> bool:
    """Tell whether a file exists, here or at its URL."""
    if not isinstance(path, UrlPath):
        return path.exists()
    system, name = _reach(path)
    try:
        return bool(system.exists(name))
    except Exception as error:  # every protocol has errors of its own
        raise _explain(path, error) from None


def read_url(path: UrlPath) -> bytes:
    """Return the content of a small file."""
    system, name = _reach(path)
    try:
        content: bytes = system.cat_file(name)
    except Exception as error:
        raise _explain(path, error) from None
    return content


def fetch(path: UrlPath, target: Path) -> None:
    """Copy a file to this machine; `OSError` if its disk is full."""
    system, name = _reach(path)
    try:
        system.get_file(name, str(target))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
            raise  # it is this machine that is full
        raise _explain(path, error) from None


def refuse_url(path: Path) -> None:
    """Raise `InputError` if results are to be written to a URL."""
    if isinstance(as_path(path), UrlPath):
        raise InputError(
            f"{as_path(path)} is a URL, and results are written to a disk: name a folder or file "
            "of this machine, and copy it there afterwards."
        )


def _reach(path: UrlPath) -> tuple[Any, str]:
    """Return the file system of a URL, and how it calls the file."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(
            f"{path} is a URL, which takes fsspec to read: pip install 'myriad-learn[cluster]'."
        ) from None
    try:
        system, name = url_to_fs(str(path))
    except ImportError as error:
        raise InputError(f"{path} takes another package to read: {_sentence(error)}") from None
    except Exception as error:
        raise _explain(path, error) from None
    return system, name


def _explain(path: UrlPath, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path} does not exist.")
    return InputError(f"{path} cannot be read: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    reason = str(error).partition("\n")[0].strip() or type(error).__name__
    return reason if reason.endswith(".") else f"{reason}."
