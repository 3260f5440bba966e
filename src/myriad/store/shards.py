"""Shards: uncompressed Arrow IPC files of one batch each, so that rows can be memory-mapped.

Columns: `row` (fixed-size list of float32 or float16, or fixed-size binary codes), `label` (int32,
-1 if unknown, or a list of int32 if rows may have several), `path` (bytes, because a path need not
be UTF-8), `split` (text) and, if rows have groups, `group` (int32, -1 for none). The metadata of
the schema hold the bad images of the shard and the checksum of the `plan.json` for which the shard
was written.

The next shards are prefetched while the current ones are in use (`Prefetcher`).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrow import pa
from myriad.errors import InputError, MyriadError, lacks_threads
from myriad.files import atomic_write, checksum
from myriad.measures import LabelSets

SHARD_BYTES = 64 << 20
SHARD_ROWS = 4096
FLOATS = ("float32", "float16")
_META = b"myriad"


@dataclass(frozen=True)
class RowFormat:
    """The format of a row in a shard.

    Attributes
    ----------
    dtype : ``"float32"``, ``"float16"`` or ``"codes"``.
    width : number of features, or of bytes of a code.
    several : whether a row may have several labels.
    grouped : whether rows have groups.
    code : the fingerprint of the code, if any.
    """

    dtype: str
    width: int
    several: bool = False
    grouped: bool = False
    code: str | None = None

    @property
    def labels(self) -> pa.DataType:
        """The type of the column `label`."""
        return _several_labels() if self.several else pa.int32()

    @property
    def numpy(self) -> np.dtype[Any]:
        """The type of one element; bytes for codes."""
        return np.dtype(np.uint8 if self.dtype == "codes" else self.dtype)

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one row takes."""
        return self.numpy.itemsize * self.width

    @property
    def arrow(self) -> pa.DataType:
        """The type of the column `row`."""
        if self.dtype == "codes":
            return pa.binary(self.width)
        return pa.list_(pa.field("item", pa.type_for_alias(self.dtype), nullable=False), self.width)


@dataclass(frozen=True)
class ShardRecord:
    """The entry of one shard in `store.json`: rows, size and checksum."""

    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class ShardContent:
    """A memory-mapped shard: `rows` (n, width) is mapped from the file, the rest is small.

    `plan` is None in shards of earlier versions, which do not record their plan.
    """

    rows: NDArray[Any]
    batch: pa.RecordBatch
    bad: list[dict[str, str]]
    plan: str | None


def shard_rows(bytes_per_row: int) -> int:
    """Return how many rows a shard holds: about 64 MB, 1 to 4,096 rows."""
    return max(1, min(SHARD_ROWS, SHARD_BYTES // max(1, bytes_per_row)))


def shard_name(number: int) -> str:
    """Return the file name of a shard."""
    return f"shard-{number:05d}.arrow"


def row_schema(form: RowFormat) -> pa.Schema:
    """Return the columns of a shard, none of which may be null."""
    columns = {
        "row": form.arrow,
        "label": form.labels,
        "path": pa.large_binary(),
        "split": pa.utf8(),
    }
    if form.grouped:
        columns["group"] = pa.int32()
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


def write_shard(
    path: Path,
    form: RowFormat,
    rows: NDArray[Any],
    *,
    labels: NDArray[np.int32] | LabelSets,
    paths: Sequence[str],
    splits: Sequence[str],
    groups: NDArray[np.int32] | None,
    bad: Sequence[dict[str, str]],
    plan: str,
) -> ShardRecord:
    """Write one shard atomically; the arguments have been checked by the writer."""
    if rows.size >= 2**31:
        raise InputError(f"{path} would hold {rows.size} elements: write fewer rows per shard.")
    columns = [
        _row_column(form, rows),
        label_column(labels),
        pa.array([encode_path(name) for name in paths], pa.large_binary()),
        pa.array(list(splits), pa.utf8()),
    ]
    if form.grouped:
        columns.append(pa.array(groups, pa.int32()))
    metadata = {"bad": list(bad), "code": form.code, "plan": plan}
    schema = row_schema(form).with_metadata({_META: json.dumps(metadata)})
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    with atomic_write(path) as partial_path:
        write_batch(partial_path, batch)
        return ShardRecord(len(rows), partial_path.stat().st_size, checksum(partial_path))


def map_shard(path: Path, form: RowFormat, n_rows: int | None = None) -> ShardContent:
    """Map a shard into memory; its rows are read-only and read from disk when they are used."""
    batch = map_batch(path, row_schema(form))
    if n_rows is not None and batch.num_rows != n_rows:
        raise InputError(f"{path} is damaged: it has {batch.num_rows} rows, not {n_rows}.")
    column = batch.column("row")
    values = column if form.dtype == "codes" else column.values
    start = column.offset * form.bytes_per_row
    flat = np.frombuffer(
        values.buffers()[1] or b"", form.numpy, count=batch.num_rows * form.width, offset=start
    )
    rows = flat.reshape(batch.num_rows, form.width)
    bad, plan = _read_metadata(batch.schema.metadata, form, path)
    return ShardContent(rows, batch, bad, plan)


def write_batch(path: Path, batch: pa.RecordBatch) -> None:
    """Write an Arrow file of one batch."""
    with pa.OSFile(os.fsencode(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def encode_path(name: str) -> bytes:
    """Return the bytes of a path; bytes that are not UTF-8 are restored as they were."""
    try:
        return os.fspath(name).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InputError(
            f"The path {name!r} has characters that a file name cannot have."
        ) from None


def decode_paths(column: Any) -> list[str]:
    """Return the paths of a column."""
    return [value.decode("utf-8", "surrogateescape") for value in column.to_pylist()]


def _row_column(form: RowFormat, rows: NDArray[Any]) -> pa.Array:
    flat = np.ascontiguousarray(rows, form.numpy)
    if form.dtype == "codes":
        return pa.FixedSizeBinaryArray.from_buffers(
            form.arrow, len(flat), [None, pa.py_buffer(flat)]
        )
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), type=form.arrow)


def label_column(labels: NDArray[np.int32] | LabelSets) -> pa.Array:
    """Return labels as a column."""
    if isinstance(labels, LabelSets):
        return pa.ListArray.from_arrays(
            pa.array(labels.starts.astype(np.int32)),
            pa.array(labels.classes),
            type=_several_labels(),
        )
    return pa.array(labels, pa.int32())


def _several_labels() -> pa.DataType:
    return pa.list_(pa.field("item", pa.int32(), nullable=False))


def read_labels(column: Any) -> NDArray[np.int32] | LabelSets:
    """Return the labels of a column."""
    if pa.types.is_list(column.type):
        starts = column.offsets.to_numpy().astype(np.int64)
        return LabelSets(starts - starts[0], column.flatten().to_numpy())
    return column.to_numpy()


def map_batch(path: Path, schema: pa.Schema) -> pa.RecordBatch:
    """Return the one batch of an Arrow file, memory-mapped; `InputError` if it is damaged.

    Everything except the values is checked: a flipped bit in a value is found by the checksum only.
    """
    try:
        reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
        if reader.schema.remove_metadata() != schema or reader.num_record_batches != 1:
            raise InputError(f"{path} is damaged: its columns are not those of this store.")
        batch = reader.get_batch(0)
        batch.validate(full=True)
        if any(column.null_count for column in batch.columns):
            raise InputError(f"{path} is damaged: it has rows without values.")
    except (OSError, pa.ArrowException, MemoryError) as error:
        if lacks_threads(error):
            raise
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read or is damaged: {reason}") from None
    return batch


def _read_metadata(
    metadata: dict[bytes, bytes] | None, form: RowFormat, path: Path
) -> tuple[list[dict[str, str]], str | None]:
    """Return the bad images and the plan of a shard; `InputError` if it has another code."""
    try:
        content = json.loads((metadata or {})[_META])
        bad, code, plan = content["bad"], content.get("code"), content.get("plan")
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise InputError(f"{path} is damaged: its list of bad images is missing.") from None
    if code not in (None, form.code):
        raise InputError(f"{path} is of another store: its rows are coded by another code.")
    return check_bad(bad, path), plan if isinstance(plan, str) else None


def check_bad(bad: Any, path: Path) -> list[dict[str, str]]:
    """Return a list of bad images read from a file, each with a path and a reason."""
    if not isinstance(bad, list) or not all(
        isinstance(item, dict)
        and set(item) == {"path", "reason"}
        and all(isinstance(value, str) for value in item.values())
        for item in bad
    ):
        raise InputError(f"{path} is damaged: its list of bad images is not valid.")
    return bad


class Prefetcher:
    """A thread that loads shards, at most a window of them before they are used.

    It waits for the disk or the network and computes nothing. So the next window of shards is
    available when it is needed, even if only one thread trains.

    Parameters
    ----------
    shards : numbers of the shards, in the order of their first use.
    window : how many shards may be loaded but not yet used.
    load : loads the shard of a given number.
    """

    def __init__(self, shards: Sequence[int], window: int, load: Callable[[int], None]) -> None:
        self._allowed = threading.Semaphore(window)
        self._ended = False
        self._used: set[int] = set()
        if len(shards) > 1:
            work = (list(shards), load)
            threading.Thread(target=self._run, args=work, name="myriad reader", daemon=True).start()

    def use(self, shard: int) -> None:
        """Note that a shard is used, so that one more may be loaded."""
        if shard not in self._used:
            self._used.add(shard)
            self._allowed.release()

    def close(self) -> None:
        """End the thread after the shard that it is loading."""
        self._ended = True
        self._allowed.release()

    def _run(self, shards: list[int], load: Callable[[int], None]) -> None:
        for shard in shards:
            self._allowed.acquire()
            if self._ended:
                return
            try:
                load(shard)
            except (MyriadError, OSError):
                return  # the reader of the shard will raise the error


def prefetch_file(path: Path) -> None:
    """Ask the operating system to read a file into its cache, without waiting."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
