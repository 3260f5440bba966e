"""From what the user names (files, folders) to files of rows of one width."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.store.formats.clip import is_clip_folder, open_clip_folder
from myriad.store.formats.npy import NpyFile
from myriad.store.formats.npz import NpzFile
from myriad.store.formats.parquet import ParquetFile
from myriad.store.formats.row_file import RowFile
from myriad.store.formats.svmlight import SvmlightFile

FORMATS: dict[str, Any] = {
    ".npy": NpyFile,
    ".npz": NpzFile,
    ".parquet": ParquetFile,
    ".svm": SvmlightFile,
    ".svmlight": SvmlightFile,
    ".libsvm": SvmlightFile,
}
"""The reader of each suffix, called with the path and the name of the column of rows or None."""


def is_row_data(path: Path) -> bool:
    """Tell whether a path is named like a file of rows, or is a folder of clip-retrieval."""
    return path.suffix.lower() in FORMATS or is_clip_folder(path)


def open_row_files(paths: Sequence[Path], rows: str | None = None) -> list[RowFile]:
    """Open files of rows in the given order; the files of a folder come in the order of names.

    Parameters
    ----------
    rows : the column or array that the rows are in, for formats with several.
    """
    files: list[RowFile] = []
    for path in paths:
        if is_clip_folder(path):
            files.extend(open_clip_folder(path))
        else:
            files.extend(FORMATS[file.suffix.lower()](file, rows) for file in _list(path))
    for file in files[1:]:
        if file.dim != files[0].dim:
            raise InputError(
                f"{file.path} has rows of {file.dim} features, {files[0].path} of {files[0].dim}: "
                "they cannot be in one store."
            )
    return files


def common_dtype(files: Sequence[RowFile]) -> str:
    """Return how the rows of files are kept: float16 if all are, else float32."""
    return "float16" if all(file.dtype == np.float16 for file in files) else "float32"


def _list(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(
            file for file in path.rglob("*") if file.suffix.lower() in FORMATS and file.is_file()
        )
        if not found:
            raise InputError(f"{path} holds no files of rows ({', '.join(FORMATS)}).")
        return found
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path} is no file of rows: those end in {', '.join(FORMATS)}.")
    if not path.is_file():
        raise InputError(f"{path} is no regular file.")
    return [path]
