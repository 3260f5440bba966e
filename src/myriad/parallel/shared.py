"""Arrays that many pieces of work read: held by this process, or left in a file for workers."""

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
    """An array as pieces of work name it; only a path is sent to another process.

    Attributes
    ----------
    held : the array, where all work is done in this process.
    path : the file that it lies in, where it is done by workers.
    """

    held: NDArray[Any] | None = None
    path: Path | None = None

    def open(self) -> NDArray[Any]:
        """Return the array, to be read only."""
        if self.held is not None:
            return self.held
        assert self.path is not None
        return _open(self.path)


@contextmanager
def share_array(
    array: NDArray[Any], *, threads: int | None = 1, workers: Workers | None = None
) -> Iterator[tuple[Executor, SharedArray]]:
    """Yield who works on an array, and the array for their pieces, while BLAS has one thread each.

    Parameters
    ----------
    threads : of this process, that share the work.
    place : whose workers do it instead, reading the array from a file that is removed in the end.
    """
    if workers is None:
        with open_local(threads) as executor:
            yield executor, SharedArray(held=array)
        return
    folder = workers.begin("array")
    try:
        path = folder / "array.safetensors"
        write_arrays(path, {_NAME: array})  # whole before a worker hears of it, gone after the work
        with open_local(1):
            yield workers.executor, SharedArray(path=path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def _open(path: Path) -> NDArray[Any]:
    """Return the array of a file; its name is used once, so what is kept is never another one."""
    return read_arrays(path, mapped=0)[_NAME]
