"""Atomic writing of files; JSON, CSV and arrays, read with error messages for users."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myriad.errors import FULL_DISK, InputError, WorkError

if TYPE_CHECKING:
    import numpy as np

MAPPED_BYTES = 64 << 20
"""Least size of an array that `read_arrays` maps into memory instead of reading, by default."""
UNCHECKED_BYTES = 16 << 20
"""Size up to which the compression ratio of data is not checked."""
MAX_RATIO = 500
"""Maximum compression ratio of large data; zeros reach 1,030 in .npz, and far more in Parquet."""
_WRITE_BYTES = 16 << 20
_SYNC_MODE = "r+b" if os.name == "nt" else "rb"  # Windows flushes only what is open for writing
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
_SAFETENSORS_NAMES = {name: kind for kind, name in _DTYPES.items()}


@contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write to, which is renamed to `path` if no error is raised.

    Parameters
    ----------
    durable : whether to wait until the file is on disk, so that it survives a crash of the machine;
        not needed for temporary files of a run.
    """
    with atomic_writes(path, durable=durable) as (partial_path,):
        yield partial_path


@contextmanager
def atomic_writes(*paths: Path, durable: bool = True) -> Iterator[list[Path]]:
    """Yield a temporary path for each of `paths`; all are renamed if no error is raised.

    All files are on disk before the first is renamed, so only a process killed between two renames,
    or a disk that fails there, can leave a mixture of old and new files. Then the temporary files
    that were not renamed stay, as a sign of it.
    """
    partial_paths = [partial_of(path) for path in paths]
    n_renamed = 0
    try:
        with naming_full_disk(paths[0]):
            yield partial_paths
            for partial_path, path in zip(partial_paths, paths, strict=True):
                with _reporting_races(path):
                    if durable:
                        with partial_path.open(_SYNC_MODE) as written:
                            os.fsync(written.fileno())
        for partial_path, path in zip(partial_paths, paths, strict=True):
            with _reporting_races(path):
                os.replace(partial_path, path)
            n_renamed += 1
    finally:
        if n_renamed == 0:
            for partial_path in partial_paths:
                partial_path.unlink(missing_ok=True)


def partial_of(path: Path) -> Path:
    """Return the temporary path of a file while it is written; a killed process leaves it."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """Name an output in errors of a full disk, which have no name, or another file's.

    Copying a file, for example, names the source first.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK:
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def _reporting_races(path: Path) -> Iterator[None]:
    """Convert the error of a temporary file that has gone: another process has renamed it."""
    try:
        yield
    except FileNotFoundError:
        raise WorkError(
            f"{path} was written by another process at the same time: run again, one at a time."
        ) from None


def dump_json(content: Any) -> str:
    """Return `content` as JSON text for a file; raises `ValueError` for NaN.

    The text is ASCII, so that any JSON parser can read names with bytes that are not UTF-8.
    """
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, atomically."""
    with atomic_write(path) as partial_path:
        partial_path.write_text(dump_json(content), encoding="utf-8")


def is_valid_unicode(text: object) -> bool:
    """Return whether a value is text of valid Unicode; Python decodes other names to surrogates."""
    try:
        return isinstance(text, str) and text.encode() is not None
    except UnicodeEncodeError:
        return False


def is_encodable(text: object) -> bool:
    """Return whether a value is text that files can hold: as Unicode, or as the bytes it had.

    Python decodes bytes of a name that are not Unicode to some of the surrogates; other surrogates
    stand for nothing.
    """
    try:
        return isinstance(text, str) and text.encode("utf-8", "surrogateescape") is not None
    except UnicodeEncodeError:
        return False


def refuse_special(path: Path) -> None:
    """Raise `InputError` for a pipe, a device or a file of the kernel: reading it may never end.

    A path that does not exist, or is a folder, is left to the function that reads it.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    regular = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    if is_virtual(status) or not regular:
        raise InputError(f"{path} is not a regular file: copy its content to one.")


def refuse_bomb(what: str, size: int, stored: int, advice: str) -> None:
    """Raise `InputError` for large data of so few bytes in a file that they cannot be meant.

    The memory that they need would be thousands of times the size of the file.

    Parameters
    ----------
    what : the file and the part of it, for the message.
    size : bytes of the data in memory.
    stored : bytes of them in the file.
    advice : how such data can be saved to be read, if they are meant.
    """
    ratio = size / max(1, stored)
    if size > UNCHECKED_BYTES and ratio > MAX_RATIO:
        raise InputError(
            f"{what} is compressed {ratio:,.0f} to 1, as empty data are, and is not read. If it is "
            f"meant, {advice}."
        )


def is_virtual(status: os.stat_result) -> bool:
    """Return whether a file or folder is one of the kernel, such as those below /proc or /dev."""
    return status.st_dev in _kernel_devices()


@lru_cache(maxsize=1)
def _kernel_devices() -> frozenset[int]:
    """Return the file systems of the kernel: of files that it makes up, and of devices."""
    roots = ("/proc", "/sys", "/dev")
    return frozenset(os.stat(root).st_dev for root in roots if os.path.ismount(root))


@contextmanager
def reading_text(name: Path | str) -> Iterator[None]:
    """Convert the errors of reading a text file in UTF-8 to `InputError`.

    Parameters
    ----------
    name : the file, or the option and the file, as errors call it.
    """
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text: save it in UTF-8.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from None


@contextmanager
def open_csv(path: Path, *, option: str = "") -> Iterator[Any]:
    """Yield the reader of a CSV file: an iterator over lists of cells, with ``line_num``.

    Cells are separated by commas, or by the semicolons or tabs of spreadsheets if the first line
    has no comma.

    Parameters
    ----------
    option : the option that states the file, for errors.
    """
    refuse_special(path)
    name = f"{option} {path}" if option else str(path)
    with reading_text(name), path.open(encoding="utf-8-sig", newline="") as stream:
        first = stream.readline()
        stream.seek(0)
        separator = next((mark for mark in ",;\t" if mark in first), ",")
        reader = csv.reader(stream, strict=True, delimiter=separator)
        try:
            yield reader
        except csv.Error as error:
            raise InputError(f"{name}, line {reader.line_num}: not valid CSV ({error}).") from None


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; `InputError` if there is none.

    NaN and infinite numbers, which Python would accept, are not JSON.
    """
    refuse_special(path)
    try:
        content = json.loads(
            path.read_text(encoding="utf-8"),
            parse_float=_parse_finite,
            parse_constant=_parse_finite,
        )
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it is not valid JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is damaged: it has no JSON object.")
    return content


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a number of JSON")
    return number


def write_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], texts: Mapping[str, str] | None = None
) -> None:
    """Write named arrays as a safetensors file, a few megabytes at a time.

    The writer of the safetensors library copies all arrays in memory; here they may be memory maps
    larger than the memory.

    Parameters
    ----------
    texts : metadata, stored in the header of the file.
    """
    header: dict[str, Any] = {"__metadata__": dict(texts)} if texts else {}
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    start = 0
    for name, array in ordered:
        kind = _SAFETENSORS_NAMES[array.dtype.name]
        end = start + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # aligns all arrays
    with path.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            if array.nbytes:
                flat = array.reshape(-1)
                step = max(1, _WRITE_BYTES // array.dtype.itemsize)
                for first in range(0, len(flat), step):
                    stream.write(flat[first : first + step].view("uint8").data)


def read_arrays(path: Path, *, mapped: int | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file by name.

    Parameters
    ----------
    mapped : arrays of at least this many bytes are memory-mapped, read-only, instead of read; None
        for `MAPPED_BYTES`.
    """
    import numpy as np
    from safetensors import SafetensorError, safe_open

    threshold = MAPPED_BYTES if mapped is None else mapped
    refuse_special(path)
    try:
        with path.open("rb") as stream, safe_open(path, framework="np") as checked:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
            arrays = {}
            for name in checked.keys():  # noqa: SIM118
                start, end = header[name]["data_offsets"]
                if end - start < threshold:
                    arrays[name] = checked.get_tensor(name)
                else:
                    kind = _DTYPES[header[name]["dtype"]]
                    shape = tuple(header[name]["shape"])
                    offset = 8 + length + start
                    arrays[name] = np.asarray(np.memmap(path, kind, "r", offset, shape))
            return arrays
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SafetensorError, TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file as a hexadecimal string."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
