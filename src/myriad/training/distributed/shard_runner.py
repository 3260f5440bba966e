"""Training a class shard at a time: on many workers, or where weights exceed the memory.

The classes of one-vs-rest share nothing but the rows, so a worker trains a class shard for an
epoch, streaming all rows, and writes its state to a file. Workers keep nothing between tasks: one
that dies costs the task that it was running. Where classes are cut does not change the result,
since it is always between two shards of the trainer, whose bounds depend on the number of classes
alone.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from myriad.files import atomic_write, write_arrays
from myriad.progress import Advance
from myriad.training.distributed.workers import TrainingWorkers

Task = TypeVar("Task")
Result = TypeVar("Result")


def cut_columns(starts: Sequence[int], height: int, n_ranges: int) -> list[range]:
    """Return `n_ranges` nearly equal ranges of columns, or one for each shard if these are fewer.

    Parameters
    ----------
    starts : the first column of each shard; ranges begin at some of them.
    height : number of columns.
    n_ranges : number of ranges, at least 1.
    """
    cuts = [0]
    n_ranges = min(n_ranges, len(starts))
    for number in range(1, n_ranges):  # the shard that begins nearest to an equal cut
        left = range(cuts[-1] + 1, len(starts) - (n_ranges - number) + 1)
        ideal = number * height / n_ranges
        cuts.append(min(left, key=lambda shard: abs(starts[shard] - ideal)))
    ends = [*(starts[cut] for cut in cuts), height]
    return [range(*bounds) for bounds in pairwise(ends)]


def save_shard(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the state of a class shard to a file, atomically."""
    with atomic_write(path, durable=False) as partial_path:
        write_arrays(partial_path, dict(arrays))


class ShardRunner:
    """Runs the tasks of class shards on workers, and keeps the files with their states.

    The folder is removed with the runner.

    Parameters
    ----------
    workers : the workers that run the tasks.
    name : prefix of the name of the folder.

    Attributes
    ----------
    files : for each class shard, as a range of columns, the file with its state.
    folder : where these files are; all workers see it.
    """

    def __init__(self, workers: TrainingWorkers, name: str) -> None:
        self.workers = workers
        self.files: dict[range, Path] = {}
        self.folder = workers.make_folder(name)
        self._written = 0
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def count_shards(self, size: int) -> int:
        """Return the number of class shards for `size` bytes of weights.

        There are as many as workers, and more if a shard would not fit into a worker's memory.
        """
        return max(self.workers.executor.n_workers, -(-size // self.workers.memory))

    def next_path(self, number: int) -> Path:
        """Return the file for the next state of a class shard, by its number."""
        return self.folder / f"{self._written}-{number}.safetensors"

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        n_rows: int,
        advance: Advance,
    ) -> Iterator[Result]:
        """Yield the results of tasks in order; `advance` gets each task's share of the rows."""
        for number, result in enumerate(self.workers.executor.map(function, tasks)):
            done = [n_rows * n // len(tasks) for n in (number, number + 1)]
            advance(done[1] - done[0])
            yield result

    def replace_files(self, files: dict[range, Path]) -> None:
        """Set `files`, and delete the old ones."""
        for path in self.files.values():
            path.unlink(missing_ok=True)
        self.files, self._written = files, self._written + 1

    def make_mapped(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return a memory-mapped array of zeros, which may be larger than the memory.

        Its temporary file has no name and is removed with the array.
        """
        if 0 in shape:
            return np.zeros(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as stream:
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            stream.truncate(size)
            return np.asarray(np.memmap(stream, dtype, "r+", shape=shape))
