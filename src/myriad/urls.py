"""Paths that are URLs, such as ``s3://bucket/rows.store``.

They are read with fsspec, which supports many protocols; packages for single protocols, such as
s3fs, have to be installed by the user. Nothing is written to URLs.
"""

from __future__ import annotations

import os
import re
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any

from myriad.errors import InputError

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]+::)*([a-z][a-z0-9+.-]+):/", re.IGNORECASE)
_LOCAL_PROTOCOLS = {"file", "local"}
_PLAIN: Any = type(Path())


class UrlPath(_PLAIN):
    """A path whose text is a URL, with a name, a parent and children.

    `Path` collapses the two slashes of a URL; here both are written.
    """

    def __str__(self) -> str:
        plain = super().__str__()
        match = _URL.match(plain)
        if match is None:  # above the root of a URL
            return plain
        slashes = "//" if match.group(1).lower() in _LOCAL_PROTOCOLS else "/"
        return plain[: match.end()] + slashes + plain[match.end() :]

    def absolute(self) -> UrlPath:
        """Return the same URL."""
        return self

    def resolve(self, strict: bool = False) -> UrlPath:
        """Return the same URL."""
        return self


def as_path(path: str | Path) -> Path:
    """Return a `UrlPath` if `path` is written as a URL, and a plain path otherwise.

    A `Path` of a URL, which has lost its second slash, is recognised unless such a file exists.
    """
    if isinstance(path, UrlPath) or not _URL.match(str(path)) or os.path.exists(path):
        return path if isinstance(path, Path) else Path(path)
    return UrlPath(path)


def path_exists(path: Path) -> bool:
    """Return whether a file exists, on this machine or at its URL."""
    if not isinstance(path, UrlPath):
        return path.exists()
    system, name = _open_file_system(path)
    try:
        return bool(system.exists(name))
    except Exception as error:  # every protocol has different errors
        raise _as_input_error(path, error) from None


def read_url(path: UrlPath) -> bytes:
    """Return the content of a small file at a URL."""
    system, name = _open_file_system(path)
    try:
        content: bytes = system.cat_file(name)
    except Exception as error:
        raise _as_input_error(path, error) from None
    return content


def fetch(path: UrlPath, target: Path) -> None:
    """Copy the file at a URL to a local path; `OSError` if the local disk is full."""
    system, name = _open_file_system(path)
    try:
        system.get_file(name, str(target))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
            raise  # the local disk is full
        raise _as_input_error(path, error) from None


def refuse_url(path: Path) -> None:
    """Raise `InputError` if a path for results is a URL."""
    if isinstance(as_path(path), UrlPath):
        raise InputError(
            f"{as_path(path)} is a URL, and results are written to a disk: name a folder or file "
            "on this machine, and copy it to the URL afterwards."
        )


def _open_file_system(path: UrlPath) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the name of the file in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError(
            f"{path} is a URL and needs fsspec to be read: pip install 'myriad-learn[cluster]'."
        ) from None
    try:
        system, name = url_to_fs(str(path))
    except ImportError as error:
        raise InputError(
            f"{path} needs another package to be read: {_sentence(error)} Only stores are read "
            "from URLs: download images first."
        ) from None
    except Exception as error:
        raise _as_input_error(path, error) from None
    return system, name


def _as_input_error(path: UrlPath, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path} does not exist.")
    return InputError(f"{path} cannot be read: {_sentence(error)}")


def _sentence(error: Exception) -> str:
    reason = str(error).partition("\n")[0].strip() or type(error).__name__
    return reason if reason.endswith(".") else f"{reason}."
