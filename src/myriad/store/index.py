"""The index of a store: labels, paths, splits and groups of all rows in one file.

With it a store is opened without reading its shards.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from myriad.arrow import pa
from myriad.errors import InputError
from myriad.files import atomic_write
from myriad.measures import LabelSets
from myriad.store.shards import (
    RowFormat,
    decode_paths,
    label_column,
    map_batch,
    read_labels,
    row_schema,
    write_batch,
)


def index_schema(form: RowFormat) -> pa.Schema:
    """Return the columns of an index: those of a shard without `row`."""
    return pa.schema([field for field in row_schema(form) if field.name != "row"])


class Index:
    """The memory-mapped index of a store.

    Attributes
    ----------
    labels : int32 (n_rows,), the class of each row, -1 if unknown; the lowest if there are several.
    sets : all labels of each row; None if rows have one label each.
    groups : int32 (n_rows,), the group of each row, -1 for none; None if rows have no groups.
    """

    def __init__(self, path: Path, form: RowFormat, n_rows: int, n_classes: int) -> None:
        self._batch = map_batch(path, index_schema(form))
        if self._batch.num_rows != n_rows:
            raise InputError(
                f"{path} is damaged: it has {self._batch.num_rows} rows, not {n_rows}."
            )
        found = read_labels(self._batch.column("label"))
        self.sets = found if isinstance(found, LabelSets) else None
        self.labels: NDArray[np.int32] = found.first() if isinstance(found, LabelSets) else found
        numbers = found.classes if isinstance(found, LabelSets) else found
        if len(numbers) and not -1 <= numbers.min() <= numbers.max() < n_classes:
            raise InputError(f"{path} is damaged: it has labels of classes that do not exist.")
        self.groups: NDArray[np.int32] | None = (
            self._batch.column("group").to_numpy() if form.grouped else None
        )

    def read_paths(self) -> list[str]:
        """Return the path of each row."""
        return decode_paths(self._batch.column("path"))

    def read_splits(self) -> NDArray[np.str_]:
        """Return the split of each row."""
        coded = self._batch.column("split").dictionary_encode()
        names = np.array(coded.dictionary.to_pylist(), np.str_)
        return names[coded.indices.to_numpy()] if len(names) else np.empty(0, np.str_)


def index_columns(batch: pa.RecordBatch, form: RowFormat) -> pa.RecordBatch:
    """Return a copy of a shard's index columns, so that its file can be closed."""
    schema = index_schema(form)
    small = batch.select(schema.names).replace_schema_metadata(None)
    return pa.ipc.read_record_batch(small.serialize(), schema)


def index_batch(
    form: RowFormat,
    labels: NDArray[np.int32] | LabelSets,
    paths: Iterable[bytes],
    splits: NDArray[np.str_],
    groups: NDArray[np.int32] | None,
) -> pa.RecordBatch:
    """Return the index columns of rows that are not in a shard but in referenced files."""
    columns = [
        label_column(labels),
        pa.array(paths, pa.large_binary()),
        pa.array(splits, pa.utf8()),
    ]
    if form.grouped:
        columns.append(pa.array(groups, pa.int32()))
    return pa.RecordBatch.from_arrays(columns, schema=index_schema(form))


def write_index(path: Path, form: RowFormat, batches: list[pa.RecordBatch]) -> int:
    """Write the index columns of all shards, in order, to one file; return its number of rows."""
    schema = index_schema(form)
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    batch = (table.to_batches() or [pa.RecordBatch.from_pylist([], schema)])[0]
    with atomic_write(path) as partial_path:
        write_batch(partial_path, batch)
    return batch.num_rows
