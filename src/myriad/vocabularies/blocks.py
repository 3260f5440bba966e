"""Rows of an array in blocks, for sums over all of them that are the same wherever they are made.

The number of rows alone fixes the blocks, and their sums are added in the order of the blocks.
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
from myriad.parallel import Executor, SharedArray, Workers, share_array

BLOCK = 16_384
"""Rows of a block."""
PIECES = 2
"""Pieces that a worker is sent, of several blocks each: few cost least, more are shared evenly."""
Result = TypeVar("Result")


class Blocks:
    """The blocks of an array, and who works on them; see `open_blocks`."""

    def __init__(self, executor: Executor, array: SharedArray, n_rows: int) -> None:
        self._executor, self._array, self._n_rows = executor, array, n_rows

    def sum(self, function: Callable[[Float], NDArray[Any]]) -> NDArray[np.float64]:
        """Return the sum of what the function returns of each block, in float64."""
        parts = self.map(function)
        total = next(parts).astype(np.float64)
        for part in parts:
            total += part
        return total

    def map(self, function: Callable[[Float], Result]) -> Iterator[Result]:
        """Yield ``function(block)`` of each block in order; the function is pickled."""
        ends = [(i, min(i + BLOCK, self._n_rows)) for i in range(0, self._n_rows, BLOCK)]
        most = PIECES * self._executor.n_workers if self._executor.remote else len(ends)
        bounds = np.linspace(0, len(ends), min(most, len(ends)) + 1).round().astype(int)
        pieces = [ends[first:last] for first, last in pairwise(bounds)]
        for found in self._executor.map(_BlockWork(self._array, function), pieces):
            yield from found


def sum_rows(block: Float) -> NDArray[np.float64]:
    """Return the sum of the rows of a block, (dim,)."""
    total: NDArray[np.float64] = block.sum(axis=0, dtype=np.float64)
    return total


@contextmanager
def open_blocks(
    values: Float, *, threads: int | None = 1, workers: Workers | None = None
) -> Iterator[Blocks]:
    """Yield the blocks of float32 rows (n_samples, dim), while BLAS is held to one thread each.

    Parameters
    ----------
    threads : of this machine that share the blocks.
    place : whose workers share them instead: they read the rows from a file.
    """
    with share_array(values, threads=threads, workers=workers) as (executor, array):
        yield Blocks(executor, array, len(values))


@dataclass(frozen=True)
class _BlockWork(Generic[Result]):
    """Applies a function to blocks of an array, each from its first row to before its last."""

    array: SharedArray
    function: Callable[[Float], Result]

    def __call__(self, piece: list[tuple[int, int]]) -> list[Result]:
        values = self.array.open()
        return [self.function(values[first:last]) for first, last in piece]
