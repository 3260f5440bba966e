"""Labels, paths and splits of all rows in one file, so that a store opens without its shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import written_whole
from myriad.store.shards import decode_paths, map_batch, write_batch

_SCHEMA = pa.schema(
    [
        pa.field("label", pa.int32(), nullable=False),
        pa.field("path", pa.large_binary(), nullable=False),
        pa.field("split", pa.utf8(), nullable=False),
    ]
)


class Index:
    """The mapped index of a store."""

    def __init__(self, path: Path, n_rows: int, n_classes: int) -> None:
        self._batch = map_batch(path, _SCHEMA)
        if self._batch.num_rows != n_rows:
            raise InputError(
                f"{path} is damaged: it has {self._batch.num_rows} rows, not {n_rows}."
            )
        self.labels: NDArray[np.int32] = self._batch.column("label").to_numpy()
        if n_rows and not -1 <= self.labels.min() <= self.labels.max() < n_classes:
            raise InputError(f"{path} is damaged: it has labels of classes that do not exist.")

    def read_paths(self) -> list[str]:
        """Return the path of each row."""
        return decode_paths(self._batch.column("path"))

    def read_splits(self) -> NDArray[np.str_]:
        """Return the split of each row."""
        coded = self._batch.column("split").dictionary_encode()
        names = np.array(coded.dictionary.to_pylist(), np.str_)
        return names[coded.indices.to_numpy()] if len(names) else np.empty(0, np.str_)


def small_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a copy of a shard's columns without its rows, so that its file can be closed."""
    small = batch.select(_SCHEMA.names).replace_schema_metadata(None)
    return pa.ipc.read_record_batch(small.serialize(), _SCHEMA)


def write_index(path: Path, batches: list[pa.RecordBatch]) -> int:
    """Write the small columns of all shards, in their order, into one file; return its rows."""
    table = pa.Table.from_batches(batches, _SCHEMA).combine_chunks()
    batch = (table.to_batches() or [pa.RecordBatch.from_pylist([], _SCHEMA)])[0]
    with written_whole(path) as beside:
        write_batch(beside, batch)
    return batch.num_rows
