"""Rows of an array in blocks, for sums over all of them that are the same wherever they are made.

The number of rows alone fixes the blocks, and their sums are added in the order of the blocks.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.files import read_arrays, write_arrays, written_whole
from myriad.parallel import Mapper, Place, open_local

BLOCK = 16_384
"""Rows of a block."""
Result = TypeVar("Result")


class Blocks:
    """The blocks of an array, and who works on them; see `open_blocks`."""

    def __init__(self, mapper: Mapper, pieces: Sequence[Any], path: Path | None = None) -> None:
        self._mapper, self._pieces, self._path = mapper, pieces, path

    def sum(self, function: Callable[[Float], NDArray[Any]]) -> NDArray[np.float64]:
        """Return the sum of what the function returns of each block, in float64."""
        parts = self.map(function)
        total = next(parts).astype(np.float64)
        for part in parts:
            total += part
        return total

    def map(self, function: Callable[[Float], Result]) -> Iterator[Result]:
        """Yield ``function(block)`` of each block in order; the function is pickled."""
        work = function if self._path is None else _BlockWork(self._path, function)
        return self._mapper.map(work, self._pieces)


def sum_rows(block: Float) -> NDArray[np.float64]:
    """Return the sum of the rows of a block, (dim,)."""
    total: NDArray[np.float64] = block.sum(axis=0, dtype=np.float64)
    return total


@contextmanager
def open_blocks(
    values: Float, *, threads: int | None = 1, place: Place | None = None
) -> Iterator[Blocks]:
    """Yield the blocks of float32 rows (n_samples, dim), while BLAS is held to one thread each.

    Parameters
    ----------
    threads : of this machine that share the blocks.
    place : whose workers share them instead: they read the rows from a file.
    """
    ends = [(first, min(first + BLOCK, len(values))) for first in range(0, len(values), BLOCK)]
    if place is None:
        with open_local(threads) as mapper:
            yield Blocks(mapper, [values[first:last] for first, last in ends])
        return
    folder = place.begin("blocks")
    try:
        path = folder / "values.safetensors"
        with written_whole(path) as beside:
            write_arrays(beside, {"values": values})
        with open_local(1):
            yield Blocks(place.mapper, ends, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class _BlockWork:
    """Applies a function to the rows of a file from the first to before the last."""

    path: Path
    function: Callable[[Float], Any]

    def __call__(self, ends: tuple[int, int]) -> Any:
        return self.function(_open(self.path)[slice(*ends)])


@lru_cache(maxsize=1)
def _open(path: Path) -> Float:
    """Return the array of a file; its name is used once, so what is kept is never another one."""
    return read_arrays(path)["values"]
