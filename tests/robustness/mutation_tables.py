"""Mutations of files of arrays and tables that stay valid files: their values, types and shapes.

Libraries refuse most files with changed bytes. These pass the libraries, and reach the checks of
what the arrays and columns must be. Each function takes the content of a file and a source of
random draws, and returns another content.
"""

from __future__ import annotations

import functools
import io
import json
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tests.robustness.mutation import (
    NUMBERS,
    WORDS,
    mutate_bytes,
    mutate_json,
    mutate_npy,
    mutate_safetensors,
    mutate_zip,
)

_DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
_MOST_ROWS = 1000
_MOST_BYTES = 1 << 18
"""Rows and bytes of a table to change, at most: large ones would take most of the time."""
_NAMES = ("", "a", "label", "row", "../x", "x" * 300)
_TYPES: tuple[tuple[pa.DataType, list[Any]], ...] = (
    (pa.null(), [None]),
    (pa.bool_(), [True, False, None]),
    (pa.int64(), [n for n in NUMBERS if n < 2**63]),
    (pa.uint64(), [n for n in NUMBERS if n >= 0]),
    (pa.int32(), [-(2**31), -1, 0, 2, 2**31 - 1]),
    (pa.float64(), [0.5, float("nan"), float("inf"), 1e300, None]),
    (pa.float32(), [0.5, float("nan"), -1e38]),
    (pa.string(), ["", "ant", "x" * 5000, "é", "\0", None]),
    (pa.large_binary(), [*WORDS]),
    (pa.list_(pa.float32()), [[], [1.0], [1.0, None], None, [0.0] * 300]),
    (pa.list_(pa.string()), [[], ["ant"], ["ant", "ant", ""], None]),
    (pa.list_(pa.float32(), 4), [[0.0] * 4, None]),
    (pa.struct([("bytes", pa.binary()), ("path", pa.string())]), [{"bytes": b"x"}, None]),
    (pa.dictionary(pa.int8(), pa.string()), ["ant", "bee", None]),
    (pa.timestamp("ms"), [0, 2**40]),
    (pa.decimal128(20, 3), [None, 7]),
)
"""Types that a column may be given, and values of them."""


def change_array(array: np.ndarray, draw: Random) -> np.ndarray:
    """Return an array with some other values, another type or another shape."""
    with np.errstate(all="ignore"):
        match draw.randrange(8):
            case 0:
                return array.astype(draw.choice(_DTYPES))
            case 1:
                shape = draw.choice([(-1,), (1, -1), (-1, 1), (1, -1, 1)])
                return array.reshape(shape)
            case 2:
                return array[: draw.randrange(len(array) + 1)] if array.ndim else array[None]
            case 3:
                return np.concatenate([array, array]) if array.ndim else array.reshape(1)
            case 4:
                return np.zeros_like(array) if draw.randrange(2) else array[..., None]
            case 5 if array.ndim > 1:
                return np.ascontiguousarray(np.swapaxes(array, 0, -1))
        changed = array.copy().reshape(-1)
        if len(changed):
            at = draw.randrange(len(changed))
            numbers = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**63 - 1]
            if array.dtype.kind == "f":
                numbers = [0, -1.0, np.nan, np.inf, -np.inf, 1e38, 1e-40, 65504]
            changed[at : at + draw.choice([1, 1, 3, 1000])] = np.array(draw.choice(numbers)).astype(
                array.dtype
            )
        return changed.reshape(array.shape)


@functools.lru_cache(maxsize=512)
def _load_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file; none if it is damaged."""
    try:
        return load(content)
    except (SafetensorError, TypeError, ValueError, KeyError):
        return {}


def mutate_npy_arrays(content: bytes, draw: Random) -> bytes:
    """Change the array of a .npy file that stays valid; or its header or bytes."""
    if draw.randrange(3) == 0:
        return mutate_npy(content, draw)
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, TypeError, MemoryError, OverflowError):
        return mutate_npy(content, draw)
    if array.size > 100_000 or array.dtype.kind not in "fiub":
        return mutate_npy(content, draw)
    changed = change_array(array, draw)
    layout = draw.choice([np.ascontiguousarray, np.ascontiguousarray, np.asfortranarray])
    if draw.randrange(4) == 0:
        changed = changed.astype(changed.dtype.newbyteorder(">"))
    stream = io.BytesIO()
    np.save(stream, layout(changed))
    return stream.getvalue()


def mutate_npz(content: bytes, draw: Random) -> bytes:
    """Change an array of a .npz file that stays valid, a name of one, or the bytes."""
    return mutate_zip(content, draw, mutate_npy_arrays)


def mutate_arrays(content: bytes, draw: Random) -> bytes:
    """Change arrays or texts of a safetensors file that stays valid; or its header or bytes."""
    arrays = dict(_load_arrays(content))
    if not arrays or draw.randrange(8) == 0:
        return mutate_safetensors(content, draw)
    (size,) = struct.unpack("<Q", content[:8])
    texts = json.loads(content[8 : 8 + size]).get("__metadata__", {})
    for _ in range(draw.randrange(1, 3)):
        name = draw.choice(sorted(arrays))
        match draw.randrange(10):
            case 0 if len(arrays) > 1:
                del arrays[name]
            case 1:
                arrays[draw.choice(sorted(arrays))] = arrays[name]
            case 2:
                arrays[draw.choice(_NAMES)] = arrays[name]
            case 3 if texts:
                key = draw.choice(sorted(texts))
                texts[key] = mutate_json(texts[key].encode(), draw).decode("utf-8", "replace")
            case _:
                arrays[name] = change_array(arrays[name], draw)
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(whole, texts or None)


def change_table(table: pa.Table, draw: Random) -> pa.Table:
    """Return a table with other values, columns, types or rows."""
    if not table.num_columns:
        return table
    at = draw.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    match draw.randrange(24):
        case 0:
            return table.remove_column(at)
        case 1:
            names = [draw.choice(_NAMES) if one == name else one for one in table.column_names]
            return table.rename_columns(names)
        case 2:
            return table.append_column(draw.choice([name, *_NAMES]), column)
        case 3:
            start = draw.randrange(table.num_rows + 1)
            return table.slice(start, draw.choice([0, 1, 5, 1000]))
        case 4:
            times = min(draw.choice([2, 3, 50]), _MOST_ROWS // max(1, table.num_rows))
            return pa.concat_tables([table] * max(1, times))
        case 5:
            metadata = dict(table.schema.metadata or {b"huggingface": b'{"info": {}}'})
            key = draw.choice(sorted(metadata))
            return table.replace_schema_metadata(
                {**metadata, key: mutate_json(metadata[key], draw)}
            )
        case 6 | 7:
            kind, values = draw.choice(_TYPES)
            other = pa.array([draw.choice(values) for _ in range(len(column))], kind)
            return table.set_column(at, name, other)
    values = column.to_pylist()
    for _ in range(draw.choice([1, 1, 2, 5]) if values else 0):
        row, other = draw.randrange(len(values)), draw.randrange(len(values))
        value = values[other] if draw.randrange(4) == 0 else _change_value(values[row], draw)
        values[row] = _fit_value(value, column.type)
    return table.set_column(at, table.schema.field(at), pa.array(values, column.type))


def _fit_value(value: Any, kind: pa.DataType) -> Any:
    """Return a value with the length that a type wants."""
    if isinstance(value, bytes) and pa.types.is_fixed_size_binary(kind):
        return value[: kind.byte_width].ljust(kind.byte_width, b"\0")
    if isinstance(value, list) and pa.types.is_fixed_size_list(kind):
        return ([*value, *value] or [0])[: kind.list_size]
    return value


def _change_value(value: Any, draw: Random) -> Any:
    """Return another value, of the same type more often than not."""
    match value:
        case bytes():
            return mutate_bytes(value, draw)
        case str():
            return draw.choice([draw.choice(WORDS).decode("utf-8", "ignore"), None])
        case list() if value and draw.randrange(4):
            at = draw.randrange(len(value))
            return [*value[:at], _change_value(value[at], draw), *value[at + 1 :]]
        case list():
            return value + value[:1] if draw.randrange(2) else value[1:]
        case dict():
            return {key: _change_value(one, draw) for key, one in value.items()}
    return draw.choice([*NUMBERS, -5, 0.5, float("nan"), float("inf"), 1e38, None])


def _mutate_table(
    content: bytes,
    draw: Random,
    read: Callable[[bytes], pa.Table],
    write: Callable[[pa.Table, Random], bytes],
) -> bytes:
    if draw.randrange(12) == 0:
        return mutate_bytes(content, draw)
    try:
        table = _read_valid(content, read)
        for _ in range(draw.randrange(1, 3)):
            table = change_table(table, draw)
        return write(table, draw)
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError):
        return mutate_bytes(content, draw)


@functools.lru_cache(maxsize=256)
def _read_valid(content: bytes, read: Callable[[bytes], pa.Table]) -> pa.Table:
    """Return a table whose values cannot end this process."""
    table = read(content)
    table.validate(full=True)
    return table.slice(
        0, max(1, min(_MOST_ROWS, _MOST_BYTES * table.num_rows // (table.nbytes + 1)))
    )


def _read_arrow(content: bytes) -> pa.Table:
    return pa.ipc.open_file(content).read_all()


def _write_arrow(table: pa.Table, draw: Random) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=draw.choice([None, None, "lz4", "zstd"]))
    size = draw.choice([None, None, None, max(1, table.num_rows // 20), 5])
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        for batch in table.combine_chunks().to_batches(size):
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _read_parquet(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content))


def _write_parquet(table: pa.Table, draw: Random) -> bytes:
    stream = io.BytesIO()
    pq.write_table(
        table,
        stream,
        row_group_size=max(draw.choice([1, 3, 1000]), table.num_rows // 20),
        compression=draw.choice(["none", "snappy", "zstd", "gzip"]),
        use_dictionary=draw.choice([True, False]),
        data_page_version=draw.choice(["1.0", "2.0"]),
        version=draw.choice(["1.0", "2.6"]),
        store_schema=draw.choice([True, False]),
    )
    return stream.getvalue()


def mutate_arrow(content: bytes, draw: Random) -> bytes:
    """Change the table of an Arrow file that stays valid; or the bytes."""
    return _mutate_table(content, draw, _read_arrow, _write_arrow)


def mutate_parquet(content: bytes, draw: Random) -> bytes:
    """Change the table of a Parquet file that stays valid; or the bytes."""
    return _mutate_table(content, draw, _read_parquet, _write_parquet)
