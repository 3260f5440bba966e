"""Output folders of clip-retrieval: ``img_emb/*.npy`` with ``metadata/*.parquet`` beside them."""

from __future__ import annotations

import re
from pathlib import Path

from myriad.errors import InputError
from myriad.store.formats.npy import NpyFile
from myriad.store.formats.parquet import open_parquet, read_parquet_column
from myriad.store.formats.row_file import Column, check_same_length

EMBEDDINGS, METADATA = "img_emb", "metadata"


class ClipFile(NpyFile):
    """One array of embeddings with its table of metadata."""

    def __init__(self, path: Path, metadata: Path) -> None:
        super().__init__(path)
        self.metadata = metadata
        self._table = open_parquet(metadata)
        if self._table.metadata.num_rows != self.n_rows:
            raise InputError(
                f"{metadata} has {self._table.metadata.num_rows} rows, {path} has {self.n_rows}: "
                "they do not belong together."
            )

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the metadata."""
        return list(self._table.schema_arrow.names)

    def read_column(self, name: str) -> Column:
        """Return a column of the metadata."""
        column = read_parquet_column(self._table, name, self.metadata)
        return check_same_length(column, self.n_rows, f"{self.metadata}: {name}")


def is_clip_folder(folder: Path) -> bool:
    """Tell whether a folder is one that clip-retrieval wrote."""
    return any((folder / EMBEDDINGS).glob("*.npy"))


def open_clip_folder(folder: Path) -> list[ClipFile]:
    """Open the arrays of such a folder, each with the metadata of the same number."""
    arrays = _by_number(folder / EMBEDDINGS, "npy")
    tables = _by_number(folder / METADATA, "parquet")
    for number, path in arrays.items():
        if number not in tables:
            raise InputError(
                f"{path} has no metadata: there is no .parquet file of the number {number} in "
                f"{folder / METADATA}."
            )
    return [ClipFile(path, tables[number]) for number, path in sorted(arrays.items())]


def _by_number(folder: Path, suffix: str) -> dict[int, Path]:
    """Return the files of a folder by the last number in their names."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob(f"*.{suffix}")):
        numbers = re.findall(r"\d+", path.stem)
        number = int(numbers[-1]) if numbers else 0
        if number in found:
            raise InputError(f"{path} and {found[number].name} have the same number {number}.")
        found[number] = path
    return found
