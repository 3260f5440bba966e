"""NumPy's .npz: several arrays in a zip file; the rows are streamed, compressed or not."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import refuse_bomb
from myriad.store.formats.row_file import Column, RowFile, brief, check_same_length, to_column

SPARSE = {"data", "indices", "indptr", "shape"}
"""The arrays of a matrix that `scipy.sparse.save_npz` has written."""
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class NpzFile(RowFile):
    """Rows of the two-dimensional array of a .npz file; its other arrays are columns.

    Parameters
    ----------
    rows : the name of the array of rows; None if only one has two dimensions.
    """

    suffixes = (".npz",)
    description = "NumPy arrays: the rows, and one value per row in each of the others"

    def __init__(self, path: Path, rows: str | None = None) -> None:
        self.path = path
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._members: dict[str, str] = {}
        types: dict[str, np.dtype[Any]] = {}
        with self._opened() as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                refuse_bomb(
                    f"{path}: {name}",
                    member.file_size,
                    member.compress_size,
                    "save it without compression (numpy.savez)",
                )
                self._members[name] = member.filename
                with self._open_member(archive, name) as stream:
                    self._shapes[name], types[name] = self._read_header(stream, name)
                    stated = math.prod(self._shapes[name]) * types[name].itemsize
                    if stated > member.file_size - stream.tell():
                        raise InputError(f"{self.path}: {name} is truncated.")
        self._rows = self._choose(rows)
        self.n_rows, self.dim = self._shapes[self._rows]
        self.dtype = types[self._rows]
        self.check_shape()

    def _choose(self, rows: str | None) -> str:
        wide = [name for name, shape in self._shapes.items() if len(shape) == 2]
        if rows is None and len(wide) == 1:
            return wide[0]
        if self._shapes.keys() >= SPARSE:
            raise InputError(
                f"{self.path} holds a sparse matrix of SciPy. Write it as svmlight, by "
                "sklearn.datasets.dump_svmlight_file, or train on it in Python."
            )
        if not wide:
            raise InputError(f"{self.path} has no array of two dimensions (rows, features).")
        if rows is None or rows not in wide:
            asked = "" if rows is None else f"no such array {rows!r} among them, "
            raise InputError(
                f"{self.path}: {asked}arrays of two dimensions: {', '.join(wide)}. Name "
                "the one of the rows with --rows."
            )
        return rows

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.") from None
        except Exception as error:  # damage raises nearly every kind of exception
            raise InputError(f"{self.path} is not a valid .npz file: {brief(error)}.") from None

    def _open_member(self, archive: zipfile.ZipFile, name: str) -> IO[bytes]:
        try:
            return archive.open(self._members[name])
        except Exception as error:  # damage raises nearly every kind of exception
            raise InputError(f"{self.path}: {name} is damaged: {brief(error)}.") from None

    def _read_header(self, stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        try:
            version = np.lib.format.read_magic(stream)
            shape, by_column, dtype = _HEADERS[version](stream)
        except Exception as error:  # a damaged header raises nearly every kind of exception
            raise InputError(f"{self.path}: {name} is not an array: {brief(error)}.") from None
        if dtype.hasobject:
            raise InputError(f"{self.path}: {name} holds Python objects, which are never read.")
        if by_column and len(shape) == 2:
            raise InputError(f"{self.path}: {name} is stored column by column; save it in C order.")
        return shape, dtype

    @property
    def columns(self) -> list[str]:
        """The names of the arrays with one value per row."""
        return [name for name, shape in self._shapes.items() if shape == (self.n_rows,)]

    def read_column(self, name: str) -> Column:
        """Return an array of one dimension."""
        if name not in self._shapes or len(self._shapes[name]) != 1:
            raise InputError(f"{self.path} has no array {name!r} with a value per row.")
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                array = arrays[name]
        except Exception as error:  # a damaged member raises nearly every kind of exception
            raise InputError(f"{self.path}: {name} is damaged: {brief(error)}.") from None
        where = f"{self.path}: {name}"
        return check_same_length(to_column(array, where), self.n_rows, where)

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows as they are decompressed."""
        row_bytes = self.dim * self.dtype.itemsize
        with self._opened() as archive, self._open_member(archive, self._rows) as stream:
            self._read_header(stream, self._rows)
            for start in range(0, self.n_rows, size):
                n = min(size, self.n_rows - start)
                try:
                    content = stream.read(n * row_bytes)
                except Exception as error:  # zlib and zipfile raise their own
                    raise InputError(f"{self.path} is damaged: {brief(error)}.") from None
                if len(content) != n * row_bytes:
                    raise InputError(f"{self.path}: {self._rows} is truncated.")
                yield np.frombuffer(content, self.dtype).reshape(n, self.dim)
