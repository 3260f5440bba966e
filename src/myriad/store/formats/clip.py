"""Output folders of clip-retrieval: ``img_emb/*.npy`` and ``metadata/*.parquet``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from myriad.errors import InputError
from myriad.store.formats.npy import NpyFile
from myriad.store.formats.parquet import open_parquet, read_parquet_column
from myriad.store.formats.row_file import Column, RowFile, check_same_length

EMBEDDINGS, METADATA = "img_emb", "metadata"


class ClipFile(NpyFile):
    """One array of embeddings with its table of metadata.

    Parameters
    ----------
    metadata : the Parquet file of the same number.
    """

    suffixes = ()
    description = "output folder of clip-retrieval"

    def __init__(self, path: Path, rows: str | None = None, *, metadata: Path) -> None:
        super().__init__(path)
        self.metadata = metadata
        self._table = open_parquet(metadata)
        if self._table.metadata.num_rows != self.n_rows:
            raise InputError(
                f"{metadata} has {self._table.metadata.num_rows} rows, {path} has {self.n_rows}: "
                "they do not belong together."
            )

    @classmethod
    def matches_folder(cls, path: Path) -> bool:
        """Return whether clip-retrieval wrote the folder."""
        return any((path / EMBEDDINGS).glob("*.npy"))

    @classmethod
    def open(cls, path: Path, rows: str | None = None) -> Sequence[RowFile]:
        """Open the arrays of a folder, each with the metadata of the same number."""
        arrays = _by_number(path / EMBEDDINGS, "npy")
        tables = _by_number(path / METADATA, "parquet")
        for number, array in arrays.items():
            if number not in tables:
                raise InputError(
                    f"{array} has no metadata: there is no .parquet file of the number {number} in "
                    f"{path / METADATA}."
                )
        return [cls(array, metadata=tables[number]) for number, array in sorted(arrays.items())]

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the metadata."""
        return list(self._table.schema_arrow.names)

    def read_column(self, name: str) -> Column:
        """Return a column of the metadata."""
        column = read_parquet_column(self._table, name, self.metadata)
        return check_same_length(column, self.n_rows, f"{self.metadata}: {name}")


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
