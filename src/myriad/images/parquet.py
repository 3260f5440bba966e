"""Images in a Parquet file, in the layout of Hugging Face datasets: bytes in a column, and labels.

The column of images holds bytes, or a struct with the fields ``bytes`` and ``path``. Labels are
text, or numbers whose names are in the metadata of the file.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from myriad.arrow import REPEATED, count_bytes, iterate_column, open_table, pa, pc, pq, read_column
from myriad.errors import InputError
from myriad.files import refuse_bomb
from myriad.images.archive import Archive
from myriad.images.reading import BadImage

IMAGE_COLUMNS = ("image", "img", "picture", "photo", "jpg", "png", "bytes")
LABEL_COLUMNS = (
    "label",
    "labels",
    "fine_label",
    "class",
    "class_name",
    "category",
    "target",
    "cls",
)
"""Names by which a column is found where there are several of its kind, the first one first."""
NAME_BYTES = 100
"""Memory that the name and the size of an image take, about."""
CACHE_BYTES = 512 << 20
"""Bytes of decoded row groups that are kept in memory."""


def holds_images(path: Path) -> bool:
    """Return whether a file is Parquet with a column of images, rather than rows of numbers."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    try:
        return _find_image_column(pq.read_schema(path)) is not None
    except (OSError, pa.ArrowException):
        return False


def _is_bytes(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _find_image_column(schema: pa.Schema) -> str | None:
    """Return the column of images: of several the one with a usual name, else the first."""
    found = []
    for field in schema:
        kind = field.type
        if pa.types.is_struct(kind):
            inner = [kind.field(number) for number in range(kind.num_fields)]
            if any(one.name == "bytes" and _is_bytes(one.type) for one in inner):
                found.append(field.name)
        elif _is_bytes(kind):
            found.append(field.name)
    named = [name for name in IMAGE_COLUMNS if name in found]
    return next(iter([*named, *found]), None)


class ParquetArchive(Archive):
    """The images of a Parquet file; a member is named after the number of its row.

    Images are decoded one row group at a time, and the last groups are kept.
    """

    def _index(self) -> None:
        self._file = open_table(self.path)
        schema = self._file.schema_arrow
        column = _find_image_column(schema)
        if column is None:
            raise InputError(
                f"{self.path} has no column of images: bytes, or a struct with the field bytes."
            )
        self._nested = pa.types.is_struct(schema.field(column).type)
        self._column = f"{column}.bytes" if self._nested else column
        self._groups: OrderedDict[int, Any] = OrderedDict()
        n_rows = self._file.metadata.num_rows
        self._refuse_bomb(max(NAME_BYTES * n_rows, count_bytes(self._file)))
        starts, number, total = [0], 0, 0
        for group in range(self._file.num_row_groups):
            for images in self._iterate_group(group):
                sizes = pc.fill_null(pc.binary_length(images), 0).to_pylist()
                self.sizes |= {f"{number + i:09d}": size for i, size in enumerate(sizes)}
                number += len(sizes)
                total += sum(sizes)
                self._refuse_bomb(total)
            starts.append(number)
        self._starts = np.array(starts)

    def _refuse_bomb(self, size: int) -> None:
        """Raise `InputError` if images have far more bytes than the file."""
        stored = self.path.stat().st_size
        refuse_bomb(f"{self.path}: {self._column}", size, stored, REPEATED)

    def _iterate_group(self, group: int) -> Iterator[Any]:
        """Yield the bytes of the images of a row group, Arrow arrays."""
        for column in iterate_column(self._file, self._column, group):
            yield pc.struct_field(column, "bytes") if self._nested else column

    def _read(self, name: str) -> bytes:
        number = int(name)
        group = int(np.searchsorted(self._starts, number, side="right")) - 1
        if group not in self._groups:
            self._groups[group] = pa.chunked_array(list(self._iterate_group(group)))
            while sum(one.nbytes for one in self._groups.values()) > CACHE_BYTES:
                if len(self._groups) == 1:
                    break
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        content = self._groups[group][number - int(self._starts[group])].as_py()
        if content is None:
            raise BadImage("no bytes, only a path")
        return bytes(content)

    def _read_values(self, column: str) -> list[Any]:
        """Return the values of a column of all rows; `InputError` if it is damaged."""
        values = read_column(self._file, column, self.path).to_pylist()
        if len(values) != len(self.sizes):
            raise InputError(
                f"{self.path} is damaged: {len(values)} labels for {len(self.sizes)} images."
            )
        return values

    def read_labels(self) -> list[str | None]:
        """Return the label of each row, None where it is missing; `InputError` without a column."""
        schema = self._file.schema_arrow
        features = _read_features(schema)
        named = [name for name in LABEL_COLUMNS if name in schema.names]
        classes = [name for name, names in features.items() if name in schema.names and names]
        column = next(iter([*named, *classes]), None)
        if column is None:
            known = ", ".join(schema.names)
            raise InputError(
                f"{self.path} has images but no column of labels, only {known}: call it label."
            )
        kind, names = schema.field(column).type, features.get(column)
        if not (pa.types.is_integer(kind) or _is_text(kind)):
            raise InputError(
                f"{self.path}: the labels in {column!r} must be text or whole numbers."
            )
        values = self._read_values(column)
        if names and pa.types.is_integer(kind):
            if any(value is not None and value >= len(names) for value in values):
                raise InputError(f"{self.path}: a label of {column!r} has no name.")
            return [None if value is None or value < 0 else names[value] for value in values]
        return [None if value is None or value == "" else str(value) for value in values]


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(inner) or pa.types.is_large_string(inner)


def _read_features(schema: pa.Schema) -> dict[str, list[str]]:
    """Return the class names of columns, from the metadata of Hugging Face datasets."""
    try:
        content = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = content["info"]["features"]
        return {
            name: [str(one) for one in feature["names"]]
            for name, feature in features.items()
            if isinstance(feature, dict) and isinstance(feature.get("names"), list)
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
