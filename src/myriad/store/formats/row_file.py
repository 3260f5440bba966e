"""The base class of files of rows: blocks of rows in their order, and columns beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import first_bad_row
from myriad.arrow import pa
from myriad.errors import InputError

Column = Any
"""A pyarrow array (chunked or not): one value per row."""


class RowFile(ABC):
    """A file of rows, opened but not read; a subclass is one format.

    A new format is one file with a subclass, its test, and one line in
    `myriad.store.formats.FORMATS`.

    Attributes
    ----------
    suffixes : the ends of the names of such files, in lower case; none for a format of folders.
    description : one line for the documentation.
    path : the file.
    n_rows, dim : its shape.
    dtype : of a value, as the file has it.
    array : the rows as a memory map, where the format allows one, else None.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    description: ClassVar[str]

    path: Path
    n_rows: int
    dim: int
    dtype: np.dtype[Any]
    array: NDArray[Any] | None = None

    @classmethod
    def matches_folder(cls, path: Path) -> bool:
        """Return whether a path is a folder that is written and read as a whole in this format."""
        return False

    @classmethod
    def open(cls, path: Path, rows: str | None = None) -> Sequence[RowFile]:
        """Open a file, or all files of a folder that matches.

        Parameters
        ----------
        rows : the column or array that the rows are in, for formats with several.
        """
        return [cls(path, rows)]

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the other columns of the file."""

    @abstractmethod
    def read_column(self, name: str) -> Column:
        """Return a column: one value per row."""

    @abstractmethod
    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in their order, at most `size` at a time, of type `dtype`."""

    @abstractmethod
    def __init__(self, path: Path, rows: str | None = None) -> None: ...

    def checked_blocks(self, size: int) -> Iterator[NDArray[np.float32]]:
        """Yield all rows as float32; raises `InputError` at a NaN or infinite value."""
        start = 0
        for block in self.blocks(size):
            yield to_floats(block, self, start)
            start += len(block)

    def locate(self, row: int) -> str:
        """Return the name of a row in messages and in the store."""
        return f"{self.path}:{row}"

    def check_shape(self) -> None:
        """Raise `InputError` unless there is something to read."""
        if self.n_rows == 0:
            raise InputError(f"{self.path} holds no rows.")
        if self.dim == 0:
            raise InputError(f"{self.path}: its rows have no features.")
        if self.dtype.kind not in "fiu":
            raise InputError(f"{self.path} holds {self.dtype}, not numbers.")


def to_floats(block: NDArray[Any], file: RowFile, rows: int | NDArray[np.int64]) -> Any:
    """Return rows of a file as float32, contiguous and finite.

    Parameters
    ----------
    rows : the number of the first row in the file, or of each of them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        floats = np.ascontiguousarray(block, np.float32)
    bad = first_bad_row(floats)
    if bad is not None:
        row = rows + bad if isinstance(rows, int) else rows[bad]
        raise InputError(
            f"{file.path}, row {row}: a NaN, an infinite or a too large value. Rows count from 0."
        )
    return floats


def check_same_length(column: Column, n_rows: int, where: str) -> Column:
    """Return a column; raises `InputError` unless it has a value for each row."""
    if len(column) != n_rows:
        raise InputError(f"{where} has {len(column)} values for {n_rows} rows.")
    return column


def brief(error: Exception) -> str:
    """Return the first line of the message of a library."""
    return str(error).partition("\n")[0].rstrip(".")


def to_column(array: NDArray[Any], where: str) -> Column:
    """Return a NumPy array of one dimension as a column."""
    try:
        return pa.array(array.astype(str) if array.dtype.kind in "US" else array)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"{where} cannot be read: {brief(error)}.") from None
