"""pyarrow, imported when it is first used, and columns of Parquet files in bounded memory.

Classifying an image needs none of it. Values of a Parquet file that repeat take hardly any space in
it: 600 bytes may hold thousands of images of megabytes each, and its metadata do not say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from myriad.errors import InputError, lacks_threads
from myriad.files import UNCHECKED_BYTES, refuse_bomb
from myriad.lazy import LazyModule

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pq = LazyModule("pyarrow.parquet")

BATCH_BYTES = 256 << 20
"""Most memory that a batch of a column takes, unless a single value takes more."""
SCANNED_BYTES = 64 << 20
"""Size of a file up to which its numbers are counted."""
REPEATED = "write it without compression and dictionaries"
"""What to do with data that repeat thousands of times, see `myriad.files.refuse_bomb`."""
VALUE_BYTES = 4096
"""Most bytes that values of a column may have on average, such as labels and paths."""
_BATCH_ROWS = 65_536
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value by its physical type, for those of fixed width."""

__all__ = [
    "REPEATED",
    "count_bytes",
    "iterate_column",
    "open_table",
    "pa",
    "pc",
    "pq",
    "read_column",
    "refuse_repeated",
]


def open_table(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; `InputError` if two columns have the same name."""
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has several columns {twice[0]!r}: give each its own name.")
    return file


def count_bytes(file: pq.ParquetFile) -> int:
    """Return the bytes of a table before compression; values that repeat may count once only."""
    groups = range(file.metadata.num_row_groups)
    return sum(int(file.metadata.row_group(group).total_byte_size) for group in groups)


def refuse_repeated(file: pq.ParquetFile, column: str, path: Path) -> None:
    """Raise `InputError` for lists of far more numbers than a small file can be meant to hold.

    The column is decoded once, a bit at a time, so files of more than `SCANNED_BYTES` are not
    checked. This also finds damage: of a damaged column the library must not be asked for the
    number of values, for then it ends the process.
    """
    stored = path.stat().st_size
    if stored > SCANNED_BYTES:
        return
    try:
        file.scan_contents([column])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: the column {column!r} is damaged: {_brief(error)}.") from None
    size = sum(
        file.metadata.row_group(group).column(leaf).num_values * _find_width(file, leaf)
        for group in range(file.metadata.num_row_groups)
        for leaf in _find_leaves(file, column).values()
    )
    refuse_bomb(f"{path}: {column}", size, stored, REPEATED)


def _find_leaves(file: pq.ParquetFile, column: str) -> dict[str, int]:
    """Return the numbers of the physical columns that a column has, by their paths."""
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    return {path: i for i, path in enumerate(paths) if f"{path}.".startswith(f"{column}.")}


def _find_width(file: pq.ParquetFile, leaf: int) -> int:
    """Return the bytes of a number in memory."""
    kind = file.schema.column(leaf)
    fixed = kind.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int(kind.length) if fixed else _WIDTHS.get(kind.physical_type, 8)


def iterate_column(file: pq.ParquetFile, column: str, group: int) -> Iterator[pa.Array]:
    """Yield the values of a column in a row group, as many at a time as fit `BATCH_BYTES`.

    No value is larger than all data of the group, so a batch of one value always fits.
    """
    largest = max(1, int(file.metadata.row_group(group).total_byte_size))
    size = max(1, min(_BATCH_ROWS, BATCH_BYTES // largest))
    for batch in file.iter_batches(batch_size=size, row_groups=[group], columns=[column]):
        yield batch.column(0)


def read_column(file: pq.ParquetFile, name: str, path: Path) -> pa.ChunkedArray:
    """Return a column such as labels or paths; `InputError` if it is damaged or far too long.

    Texts that repeat are decoded once, and counted before they are repeated.
    """
    try:
        coded = pq.ParquetFile(path, read_dictionary=[*_find_leaves(file, name)])
        column = coded.read(columns=[name]).column(0)
        column.validate(full=True)  # text may not be UTF-8
        size = sum(_count_decoded(chunk) for chunk in column.chunks)
        if size > max(UNCHECKED_BYTES, VALUE_BYTES * len(column)):
            raise InputError(
                f"{path}: the values of {name!r} have more than {VALUE_BYTES} bytes on average: "
                "name a column of short ones."
            )
        repeated = pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if repeated else column
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if lacks_threads(error):
            raise
        raise InputError(f"{path}: the column {name!r} is damaged: {_brief(error)}.") from None


def _count_decoded(values: pa.Array) -> int:
    """Return the bytes of values once those that repeat are decoded; of lists, of their values."""
    values = values.flatten() if hasattr(values, "value_lengths") else values
    kind = values.type
    if not pa.types.is_dictionary(kind) or pa.types.is_primitive(kind.value_type):
        return int(values.nbytes)
    lengths = pc.binary_length(values.dictionary).take(values.indices)
    return pc.sum(lengths).as_py() or 0


def _brief(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
