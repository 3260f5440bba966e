"""Files written whole or not at all; JSON and arrays read with errors a user understands."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myriad.errors import InputError

if TYPE_CHECKING:
    import numpy as np

MAPPED_BYTES = 64 << 20
"""Arrays of a file that are at least so large are mapped instead of read, unless stated."""
_WRITTEN_BYTES = 16 << 20
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
_KINDS = {name: kind for kind, name in _DTYPES.items()}


@contextmanager
def atomic_write(path: Path, *, lasting: bool = True) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it becomes `path` only if no error is raised.

    Parameters
    ----------
    lasting : whether it is to outlive a crash of the machine; what a run leaves to itself need not.
    """
    with atomic_writes(path, lasting=lasting) as (beside,):
        yield beside


@contextmanager
def atomic_writes(*paths: Path, lasting: bool = True) -> Iterator[list[Path]]:
    """Yield a path beside each of `paths` to write to; all become `paths` if no error is raised.

    All are on the disk before the first is renamed, so nothing but a kill between two renames can
    leave some of them old and some new.
    """
    besides = [path.with_name(f".{path.name}.part") for path in paths]
    try:
        yield besides
        for beside in besides if lasting else ():
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
    with atomic_write(path) as beside:
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


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], texts: Mapping[str, str] | None = None
) -> None:
    """Write arrays by name as a safetensors file, some megabytes at a time.

    The library's own writer holds a copy of all arrays; here they may be larger than the memory.

    Parameters
    ----------
    texts : further facts, kept in the file's head.
    """
    head: dict[str, Any] = {"__metadata__": dict(texts)} if texts else {}
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    start = 0
    for name, array in ordered:
        kind = _KINDS[array.dtype.name]
        end = start + array.nbytes
        head[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that all arrays are aligned
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            if array.nbytes:
                flat = array.reshape(-1)
                step = max(1, _WRITTEN_BYTES // array.dtype.itemsize)
                for first in range(0, len(flat), step):
                    stream.write(flat[first : first + step].view("uint8").data)


def read_arrays(path: Path, *, mapped: int | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a safetensors file by name.

    Parameters
    ----------
    mapped : bytes of an array that is mapped instead of read, and read-only, at least; None for
        `MAPPED_BYTES`.
    """
    import numpy as np
    from safetensors import SafetensorError, safe_open

    least = MAPPED_BYTES if mapped is None else mapped

    try:
        with path.open("rb") as stream, safe_open(path, framework="np") as checked:
            length = int.from_bytes(stream.read(8), "little")
            head = json.loads(stream.read(length))
            arrays = {}
            for name in checked.keys():  # noqa: SIM118
                start, end = head[name]["data_offsets"]
                if end - start < least:
                    arrays[name] = checked.get_tensor(name)
                else:
                    kind = _DTYPES[head[name]["dtype"]]
                    shape = tuple(head[name]["shape"])
                    place = 8 + length + start
                    arrays[name] = np.asarray(np.memmap(path, kind, "r", place, shape))
            return arrays
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SafetensorError, TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file as a hexadecimal string."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
