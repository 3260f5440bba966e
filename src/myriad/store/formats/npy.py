"""NumPy's .npy: one array, memory-mapped; nothing is read before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.store.formats.row_file import Column, RowFile, brief


def map_array(path: Path) -> NDArray[Any]:
    """Memory-map the array of a .npy file.

    Raises `InputError` if it is cut short, damaged or holds Python objects.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or brief(error)}.") from None
    except Exception as error:  # a damaged header raises nearly every kind of exception
        reason = brief(error)
        if "Python objects" in reason or "pickle" in reason:
            reason = "it holds Python objects, which are never read; save it as plain numbers"
        elif "mmap length" in reason or "EOF" in reason or "reading array" in reason:
            reason = "the file is cut short"
        raise InputError(f"{path} is not a valid .npy file: {reason}.") from None
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an archive of arrays: rename it to .npz.")
    return array


class NpyFile(RowFile):
    """Rows of a .npy file of shape (n_rows, dim)."""

    suffixes: ClassVar[tuple[str, ...]] = (".npy",)
    description = "NumPy array (rows, features)"

    def __init__(self, path: Path, rows: str | None = None) -> None:
        self.path = path
        array = map_array(path)
        if array.ndim != 2:
            raise InputError(
                f"{path} has shape {array.shape}; rows need two dimensions (rows, features)."
            )
        self.array = array
        self.n_rows, self.dim = array.shape
        self.dtype = array.dtype
        self.check_shape()

    @property
    def columns(self) -> list[str]:
        """There are none."""
        return []

    def read_column(self, name: str) -> Column:
        """Raise `InputError`."""
        raise InputError(f"{self.path} has no columns, so none named {name!r}.")

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """Yield the rows."""
        assert self.array is not None
        for start in range(0, self.n_rows, size):
            yield self.array[start : start + size]
