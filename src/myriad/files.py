"""Files written whole or not at all; JSON and arrays read with errors a user understands."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myriad.errors import InputError

if TYPE_CHECKING:
    import numpy as np


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it becomes `path` only if no error is raised."""
    with written_together(path) as (beside,):
        yield beside


@contextmanager
def written_together(*paths: Path) -> Iterator[list[Path]]:
    """Yield a path beside each of `paths` to write to; all become `paths` if no error is raised.

    All are on the disk before the first is renamed, so nothing but a kill between two renames can
    leave some of them old and some new.
    """
    besides = [path.with_name(f".{path.name}.part") for path in paths]
    try:
        yield besides
        for beside in besides:
            with beside.open("rb") as written:
                os.fsync(written.fileno())
        for beside, path in zip(besides, paths, strict=True):
            os.replace(beside, path)
    finally:
        for beside in besides:
            beside.unlink(missing_ok=True)


def dump_json(content: Any) -> str:
    """Return `content` as JSON text for a file; NaN is refused.

    Names that hold bytes which are no UTF-8 stay readable by any JSON parser, hence plain ASCII.
    """
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, whole or not at all."""
    with written_whole(path) as beside:
        beside.write_text(dump_json(content), encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it is not valid JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged: it holds no JSON object.")
    return content


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a safetensors file by name."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SafetensorError, TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file as a hexadecimal string."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
