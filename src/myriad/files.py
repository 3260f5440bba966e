"""Files written whole or not at all, and JSON read with errors a user understands."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from myriad.errors import InputError


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it becomes `path` only if no error is raised."""
    beside = path.with_name(f".{path.name}.part")
    try:
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(beside, path)
    finally:
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


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file as a hexadecimal string."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
