"""pyarrow, imported when it is first used, and columns of Parquet files in bounded memory.

Classifying an image needs none of it. Values of a Parquet file that repeat take hardly any space in
it: 600 bytes may hold thousands of images of megabytes each, and its metadata do not say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from myriad.errors import InputError, lacks_threads
from myriad.files import UNCHECKED_BYTES
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
VALUE_BYTES = 4096
"""Most bytes that values of a column may have on average, such as labels and paths."""
_BATCH_ROWS = 65_536
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value by its physical type, for those of fixed width."""

__all__ = ["count_bytes", "iterate_column", "open_table", "pa", "pc", "pq", "read_column"]


def open_table(path: Path) -> pq.ParquetFile:
    """Open a Parquet file; `InputError` if two columns have the same name."""
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has several columns {twice[0]!r}: give each its own name.")
    return file


def count_bytes(file: pq.ParquetFile, column: str) -> int:
    """Return the bytes that a column states to have in memory; texts may have more if they repeat.

    Parameters
    ----------
    column : a column, or a field of one, such as ``image.bytes``.
    """
    groups = range(file.metadata.num_row_groups)
    leaves = _find_leaves(file, column)
    return sum(_count_chunk(file, group, leaf) for group in groups for leaf in leaves)


def iterate_column(file: pq.ParquetFile, column: str, group: int) -> Iterator[pa.Array]:
    """Yield the values of a column in a row group, as many at a time as fit `BATCH_BYTES`.

    No value is larger than all data of the column, so a batch of one value always fits.
    """
    largest = max(_bound_value(file, group, leaf) for leaf in _find_leaves(file, column))
    size = max(1, min(_BATCH_ROWS, BATCH_BYTES // largest))
    for batch in file.iter_batches(batch_size=size, row_groups=[group], columns=[column]):
        yield batch.column(0)


def read_column(file: pq.ParquetFile, name: str, path: Path) -> pa.ChunkedArray:
    """Return a column such as labels or paths; `InputError` if it is damaged or far too long."""
    found, size, most = [], 0, max(UNCHECKED_BYTES, VALUE_BYTES * file.metadata.num_rows)
    try:
        for group in range(file.metadata.num_row_groups):
            for values in iterate_column(file, name, group):
                coded = pa.types.is_dictionary(values.type)
                found.append(values.dictionary_decode() if coded else values)
                size += found[-1].nbytes
                if size > most:
                    raise InputError(
                        f"{path}: the values of {name!r} have more than {VALUE_BYTES} bytes on "
                        "average: name a column of short ones."
                    )
        column = pa.chunked_array(found, None if found else file.schema_arrow.field(name).type)
        column.validate(full=True)  # text may not be UTF-8
        return column
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if lacks_threads(error):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(f"{path}: the column {name!r} is damaged: {reason}.") from None


def _find_leaves(file: pq.ParquetFile, column: str) -> list[int]:
    """Return the numbers of the physical columns that a column has."""
    paths = [file.schema.column(number).path for number in range(len(file.schema))]
    return [number for number, path in enumerate(paths) if f"{path}.".startswith(f"{column}.")]


def _count_chunk(file: pq.ParquetFile, group: int, leaf: int) -> int:
    chunk, width = file.metadata.row_group(group).column(leaf), _find_width(file, leaf)
    return int(width * chunk.num_values if width else chunk.total_uncompressed_size)


def _find_width(file: pq.ParquetFile, leaf: int) -> int:
    """Return the bytes of each value; 0 for texts and bytes."""
    kind = file.schema.column(leaf)
    fixed = kind.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int(kind.length) if fixed else _WIDTHS.get(kind.physical_type, 0)


def _bound_value(file: pq.ParquetFile, group: int, leaf: int) -> int:
    """Return the most bytes that a value, or a list of them, can have."""
    width = _find_width(file, leaf)
    if width and file.schema.column(leaf).max_repetition_level == 0:
        return width
    return max(1, _count_chunk(file, group, leaf))
