"""Arrays that many tasks read: kept in this process, or written to a file for workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from myriad.files import read_arrays, write_arrays
from myriad.parallel.executor import Executor, open_local
from myriad.parallel.workers import Workers

_NAME = "values"


@dataclass(frozen=True, eq=False)
class SharedArray:
    """An array that tasks can be pickled with: only a path is sent to another process.

    Attributes
    ----------
    held : the array itself, where all tasks run in this process.
    path : the file that holds it, where workers run them.
    """

    held: NDArray[Any] | None = None
    path: Path | None = None

    def open(self) -> NDArray[Any]:
        """Return the array; it must not be changed."""
        if self.held is not None:
            return self.held
        assert self.path is not None
        return _open(self.path)


@contextmanager
def share_array(
    array: NDArray[Any], *, threads: int | None = 1, workers: Workers | None = None
) -> Iterator[tuple[Executor, SharedArray]]:
    """Yield an executor for tasks on an array, and the array as the tasks should hold it.

    Parameters
    ----------
    threads : of this process, which run the tasks.
    workers : that run them instead, and read the array from a file, which is removed at the end.
    """
    if workers is None:
        with open_local(threads) as executor:
            yield executor, SharedArray(held=array)
        return
    folder = workers.make_folder("array")
    try:
        path = folder / "array.safetensors"
        write_arrays(path, {_NAME: array})  # complete before any task is sent
        with open_local(1):
            yield workers.executor, SharedArray(path=path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def _open(path: Path) -> NDArray[Any]:
    """Return the array of a file, kept for the next task: no two arrays use the same path."""
    return read_arrays(path, mapped=0)[_NAME]
