"""The registry of row formats, and the opening of a user's files of rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from myriad.errors import InputError
from myriad.files import refuse_special
from myriad.images.parquet import holds_images
from myriad.store.formats.clip import ClipFile
from myriad.store.formats.npy import NpyFile
from myriad.store.formats.npz import NpzFile
from myriad.store.formats.parquet import ParquetFile
from myriad.store.formats.row_file import RowFile
from myriad.store.formats.svmlight import SvmlightFile

FORMATS: dict[str, type[RowFile]] = {
    "npy": NpyFile,
    "npz": NpzFile,
    "parquet": ParquetFile,
    "svmlight": SvmlightFile,
    "clip-retrieval": ClipFile,
}
"""All formats of ready-made rows by name; ``import``, ``predict`` and ``evaluate`` read them."""


def row_suffixes() -> dict[str, type[RowFile]]:
    """Return the format of each suffix of a file name."""
    return {suffix: found for found in FORMATS.values() for suffix in found.suffixes}


def _match_folder(path: Path) -> type[RowFile] | None:
    """Return the format of a folder that is read as a whole; None if it has none."""
    return next((found for found in FORMATS.values() if found.matches_folder(path)), None)


def is_row_data(path: Path) -> bool:
    """Return whether a path is named like a file of rows, or is a folder of such a format.

    Parquet files with a column of images are images.
    """
    named = path.suffix.lower() in row_suffixes() and not holds_images(path)
    return named or _match_folder(path) is not None


def open_row_files(paths: Sequence[Path], rows: str | None = None) -> list[RowFile]:
    """Open files of rows in the given order; the files of a folder in the order of their names.

    Parameters
    ----------
    rows : the column or array that the rows are in, for formats with several.
    """
    files: list[RowFile] = []
    for path in paths:
        folder = _match_folder(path)
        if folder is not None:
            files.extend(folder.open(path, rows))
        else:
            for file in _list(path):
                files.extend(row_suffixes()[file.suffix.lower()].open(file, rows))
    for opened in files[1:]:
        if opened.dim != files[0].dim:
            raise InputError(
                f"{opened.path} has rows of {opened.dim} features, {files[0].path} of "
                f"{files[0].dim}: they cannot be in one store."
            )
    return files


def common_dtype(files: Sequence[RowFile]) -> str:
    """Return the type of the stored rows of files: float16 if all are, else float32."""
    return "float16" if all(file.dtype == np.float16 for file in files) else "float32"


def _list(path: Path) -> list[Path]:
    """Return the files of rows in a folder, or the file itself."""
    known = row_suffixes()
    if path.is_dir():
        found = sorted(
            file for file in path.rglob("*") if file.suffix.lower() in known and file.is_file()
        )
        if not found:
            raise InputError(f"{path} holds no files of rows ({', '.join(known)}).")
        return found
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    if path.suffix.lower() not in known:
        raise InputError(f"{path} is not a file of rows: those end in {', '.join(known)}.")
    refuse_special(path)
    return [path]
