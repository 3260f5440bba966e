"""Rows of an array in blocks, for sums over all rows that do not depend on threads or workers.

The blocks depend on the number of rows alone, and their sums are added in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.parallel import Executor, LearningContext, SharedArray, share_array

BLOCK = 16_384
"""Rows of a block."""
TASKS = 2
"""Tasks per worker, of several blocks each: fewer cost less, more balance the load better."""
Result = TypeVar("Result")


class Blocks:
    """The blocks of an array, and the workers that process them; see `open_blocks`."""

    def __init__(self, executor: Executor, array: SharedArray, n_rows: int) -> None:
        self._executor, self._array, self._n_rows = executor, array, n_rows

    def sum(self, function: Callable[[Float], NDArray[Any]]) -> NDArray[np.float64]:
        """Return the sum over blocks of the results of the function, in float64."""
        results = self.map(function)
        total = next(results).astype(np.float64)
        for result in results:
            total += result
        return total

    def map(self, function: Callable[[Float], Result]) -> Iterator[Result]:
        """Yield ``function(block)`` of each block in order; the function is pickled."""
        ends = [(i, min(i + BLOCK, self._n_rows)) for i in range(0, self._n_rows, BLOCK)]
        most = TASKS * self._executor.n_workers if self._executor.remote else len(ends)
        bounds = np.linspace(0, len(ends), min(most, len(ends)) + 1).round().astype(int)
        tasks = [ends[first:last] for first, last in pairwise(bounds)]
        for found in self._executor.map(_BlockWork(self._array, function), tasks):
            yield from found


def sum_rows(block: Float) -> NDArray[np.float64]:
    """Return the sum of the rows of a block, (dim,)."""
    total: NDArray[np.float64] = block.sum(axis=0, dtype=np.float64)
    return total


@contextmanager
def open_blocks(values: Float, context: LearningContext) -> Iterator[Blocks]:
    """Yield the blocks of float32 rows (n_samples, dim), while BLAS is held to one thread each.

    Threads of this process share the blocks, or workers, which read the rows from a file.
    """
    with share_array(values, context) as (executor, array):
        yield Blocks(executor, array, len(values))


@dataclass(frozen=True)
class _BlockWork(Generic[Result]):
    """Applies a function to blocks of an array, given the first row and the end of each."""

    array: SharedArray
    function: Callable[[Float], Result]

    def __call__(self, task: list[tuple[int, int]]) -> list[Result]:
        values = self.array.open()
        return [self.function(values[first:last]) for first, last in task]
