"""Workers with a folder that all of them see, and arrays that they share through it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from myriad.files import read_arrays, write_arrays
from myriad.parallel.executor import Executor, open_local
from myriad.progress import SILENT, Progress

_NAME = "values"


@dataclass(frozen=True)
class Workers:
    """Workers, and a folder that all of them see.

    Attributes
    ----------
    executor : the workers.
    folder : for data that is too large to be sent to or from workers.
    """

    executor: Executor
    folder: Path

    def make_folder(self, name: str) -> Path:
        """Return a new folder for one job, inside `folder`, that every worker can read and write.

        Raises `InputError` if a worker does not see it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder.absolute()))
        # `mkdtemp` allows this user alone; workers may run as others of the same group.
        made.chmod(0o777 & ~_umask())
        self.executor.require(made)
        return made


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass(frozen=True)
class LearningContext:
    """How and where a code or a signature is learned; the result depends on the seed alone.

    Methods are trained with a `training.Context`: it has no seed, which is an option of the method,
    but a checkpoint.

    Attributes
    ----------
    seed : seed of all random draws.
    threads : number of threads on this machine; None for one per core.
    workers : workers on other machines or in other processes, with a folder that all of them see;
        None to work in this process.
    progress : where progress is reported.
    """

    seed: int = 0
    threads: int | None = None
    workers: Workers | None = None
    progress: Progress = SILENT


DEFAULT_LEARNING = LearningContext()


@dataclass(frozen=True, eq=False)
class SharedArray:
    """An array that many tasks read: kept in this process, or written to a file for workers.

    Tasks can be pickled with it: only a path is sent to another process.

    Attributes
    ----------
    held : the array itself, if all tasks run in this process.
    path : the file with the array, if workers run them.
    """

    held: NDArray[Any] | None = None
    path: Path | None = None

    def open(self) -> NDArray[Any]:
        """Return the array; it must not be changed."""
        if self.held is not None:
            return self.held
        assert self.path is not None
        return _read_shared(self.path)


@contextmanager
def share_array(
    array: NDArray[Any], context: LearningContext
) -> Iterator[tuple[Executor, SharedArray]]:
    """Yield an executor for tasks on an array, and the array as the tasks should hold it.

    Tasks run on threads of this process, or on the workers of the context: these read the array
    from a file, which is removed at the end.
    """
    workers = context.workers
    if workers is None:
        with open_local(context.threads) as executor:
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
def _read_shared(path: Path) -> NDArray[Any]:
    """Return the array of a file, kept for the next task: no two arrays use the same path."""
    return read_arrays(path, mapped=0)[_NAME]
