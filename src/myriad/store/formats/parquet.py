"""Parquet: rows in a column of lists, labels and others in columns of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrow import open_table, pa, pq, read_column, refuse_repeated
from myriad.errors import InputError, did_you_mean, lacks_threads
from myriad.store.formats.row_file import Column, RowFile, brief


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; raises `InputError` if it is not one."""
    try:
        return open_table(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or brief(error)}.") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:  # names of columns are decoded
        raise InputError(f"{path} is not a valid Parquet file: {brief(error)}.") from None


def read_parquet_column(file: pq.ParquetFile, name: str, path: Path) -> Column:
    """Return one column of a Parquet file."""
    if name not in file.schema_arrow.names:
        raise _refuse_column(path, name, file.schema_arrow.names)
    return read_column(file, name, path)


def _refuse_column(path: Path, name: str, known: Sequence[str]) -> InputError:
    return InputError(
        f"{path} has no column {name!r}; its columns: {', '.join(known)}."
        f"{did_you_mean(name, known)}"
    )


class ParquetFile(RowFile):
    """Rows of a Parquet file.

    Parameters
    ----------
    rows : the name of the column of rows; None if only one holds lists of numbers.
    """

    suffixes = (".parquet",)
    description = "table with a column of lists, the rows, and columns of values"

    def __init__(self, path: Path, rows: str | None = None) -> None:
        self.path = path
        self._file = open_parquet(path)
        self._rows = self._choose(rows)
        self.n_rows = self._file.metadata.num_rows
        kind = self._file.schema_arrow.field(self._rows).type.value_type
        self.dtype = pa.array([], kind).to_numpy().dtype
        refuse_repeated(self._file, self._rows, path)
        self.dim = 0
        if self.n_rows:
            first = next(self.blocks(1), None)
            if first is None:
                raise InputError(f"{path} is damaged: it states {self.n_rows} rows and has none.")
            self.dim = first.shape[1]
        self.check_shape()

    def _choose(self, rows: str | None) -> str:
        schema = self._file.schema_arrow
        if rows is not None and rows not in schema.names:
            raise _refuse_column(self.path, rows, schema.names)
        lists = [field.name for field in schema if _is_list_of_numbers(field.type)]
        if rows is None and len(lists) == 1:
            return lists[0]
        if rows is None or rows not in lists:
            raise InputError(
                f"{self.path}: columns of lists of numbers: {', '.join(lists) or 'none'}. Name "
                "the one of the rows with --rows."
            )
        return rows

    @property
    def columns(self) -> list[str]:
        """The names of the other columns."""
        return [name for name in self._file.schema_arrow.names if name != self._rows]

    def read_column(self, name: str) -> Column:
        """Return a column."""
        return read_parquet_column(self._file, name, self.path)

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows, some of a row group at a time."""
        start, dim = 0, self.dim
        try:
            for batch in self._file.iter_batches(batch_size=size, columns=[self._rows]):
                block = self._unpack(batch.column(0), start, dim)
                dim = dim or block.shape[1]
                start += len(block)
                yield block
        except (OSError, pa.ArrowException) as error:
            if lacks_threads(error):
                raise
            raise InputError(f"{self.path} is damaged: {brief(error)}.") from None

    def _unpack(self, column: Column, start: int, dim: int) -> NDArray[Any]:
        """Return lists of one length as an array."""
        lengths = column.value_lengths() if hasattr(column, "value_lengths") else None
        if column.null_count:
            row = start + column.is_null().index(True).as_py()
            raise InputError(f"{self.path}, row {row}: {self._rows!r} is empty.")
        if lengths is None:
            found = np.full(len(column), column.type.list_size)
        else:
            found = lengths.to_numpy(zero_copy_only=False)
        wanted = dim or int(found[0])
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            raise InputError(
                f"{self.path}, row {start + wrong[0]}: {found[wrong[0]]} features where the rows "
                f"before have {wanted}."
            )
        values = column.flatten()
        if values.null_count:
            row = start + values.is_null().index(True).as_py() // wanted
            raise InputError(f"{self.path}, row {row}: a value is missing.")
        return values.to_numpy(zero_copy_only=False).reshape(len(column), wanted)


def _is_list_of_numbers(kind: Any) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(kind) for is_list in lists):
        return False
    value = kind.value_type
    return pa.types.is_floating(value) or pa.types.is_integer(value)
