"""Gram matrices of rows, computed once for all fits of a run.

A search trains on some of the rows and the final training on all of them. With many features most
of the time of both is spent on the Gram matrix, so it is kept between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.parallel import ThreadPool
from myriad.progress import Progress
from myriad.store import CentredRows, Rows

BLOCK_BYTES = 256 << 20
"""Bytes of a block of rows that is multiplied with others; at most two blocks are in memory."""
READ_BYTES = 64 << 20
"""Bytes of a block of rows that are read once: new memory costs more than copying into it."""
SHARE = 128
"""Rows of a block that one thread multiplies at a time: the same for any number of threads."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows whose products are known: `numbers`, in ascending order, of a `source`."""

    source: object
    numbers: NDArray[np.int64]
    rows: Rows


class RowProducts:
    """The Gram matrix of rows, to which rows may be added.

    Rows are centred by the mean of the first rows that were requested. For rows centred by
    another mean the products are corrected, which loses no precision if the means are similar.
    Rows of another source, such as another array, start a new matrix.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._mean: Float | None = None
        self._values = np.empty((0, 0), np.float32)

    def multiply(
        self, rows: Rows, others: Rows | None = None, *, pool: ThreadPool, progress: Progress
    ) -> NDArray[np.float64]:
        """Return the inner products of rows with each other or with others, (n_rows, n_others).

        The same mean, if any, must have been subtracted from both.
        """
        plain, mean = _without_mean(rows)
        source, _ = plain.origin()
        if all(part.source is not source for part in self._parts):  # another problem
            self._parts, self._mean = [], mean
            self._values = np.empty((0, 0), np.float32)
        both = [plain] if others is None else [plain, _without_mean(others)[0]]
        positions = [self._find(some, pool, progress) for some in both]
        K = self._values[np.ix_(positions[0], positions[-1])].astype(np.float64)
        step = _vector(mean) - _vector(self._mean)
        if step.any():
            shifts = [_multiply_vector(self._centred(some), step) for some in both]
            K -= shifts[0][:, None]
            K -= shifts[-1]
            K += float(step @ step)
        return K

    def _centred(self, rows: Rows) -> Rows:
        return rows if self._mean is None else CentredRows(rows, self._mean)

    def _find(self, rows: Rows, pool: ThreadPool, progress: Progress) -> NDArray[np.int64]:
        """Return the positions of rows in the Gram matrix; missing rows are added."""
        source, numbers = rows.origin()
        positions, first = np.full(len(numbers), -1), 0
        for part in self._parts:
            if part.source is source:
                near = np.searchsorted(part.numbers, numbers).clip(max=len(part.numbers) - 1)
                known = part.numbers[near] == numbers
                positions[known] = first + near[known]
            first += len(part.numbers)
        missing = np.flatnonzero(positions < 0)
        if len(missing) == 0:
            return positions
        new, index = np.unique(numbers[missing], return_index=True)
        some = self._centred(rows.select(missing[index]))
        self._add(_Part(source, new, some), pool, progress)
        return self._find(rows, pool, progress)

    def _add(self, part: _Part, pool: ThreadPool, progress: Progress) -> None:
        """Add the products of the rows of a part with each other and with all earlier rows."""
        first = len(self._values)
        n = first + part.rows.n_rows
        known, self._values = self._values, np.empty((n, n), np.float32)
        self._values[:first, :first] = known
        self._parts.append(part)
        size = count_block_rows(part.rows)
        # Allocating new memory takes longer than copying rows into existing memory.
        buffers = np.empty((2, size, part.rows.dim), np.float32)
        starts, blocks = range(first, n, size), list(self._blocks(size))
        tasks = sum(block[0] <= start for start in starts for block in blocks)
        with progress.step("Computing the Gram matrix", tasks, "blocks") as advance:
            for start in starts:
                some = range(start - first, min(start + size, n) - first)
                X = part.rows.read(some, out=buffers[0])
                for other, rows, some in blocks:
                    if other > start:
                        break
                    Y = X if other == start else rows.read(some, out=buffers[1])
                    _multiply(X, Y, self._values, start, other, pool)
                    advance(1)

    def _blocks(self, size: int) -> Iterator[tuple[int, Rows, range]]:
        """Yield blocks of all rows: the position of the first, and where they are read."""
        first = 0
        for part in self._parts:
            for start in range(0, part.rows.n_rows, size):
                yield first + start, part.rows, range(start, min(start + size, part.rows.n_rows))
            first += part.rows.n_rows


def _multiply(X: Float, Y: Float, values: Float, start: int, other: int, pool: ThreadPool) -> None:
    """Set the products of the rows X, at position `start`, with the rows Y before or at it."""

    def multiply(first: int) -> None:
        some = X[first : first + SHARE]
        end = first + len(some) if X is Y else len(Y)
        products = some @ Y[:end].T
        begin = start + first
        values[begin : begin + len(some), other : other + end] = products
        values[other : other + end, begin : begin + len(some)] = products.T

    pool.share(multiply, range(0, len(X), SHARE))


def _without_mean(rows: Rows) -> tuple[Rows, Float | None]:
    """Return the uncentred rows, and the mean that is subtracted from them."""
    return (rows.rows, rows.mean) if isinstance(rows, CentredRows) else (rows, None)


def _vector(mean: Float | None) -> NDArray[np.float64]:
    return np.asarray(0.0 if mean is None else mean, np.float64)


def _multiply_vector(rows: Rows, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    products = [X @ vector.astype(np.float32) for X in read_blocks(rows)]
    return np.concatenate(products).astype(np.float64)


def read_blocks(rows: Rows) -> Iterator[Float]:
    """Yield all rows in blocks, each of which is overwritten by the next."""
    size = count_block_rows(rows, n_bytes=READ_BYTES)
    buffer = np.empty((size, rows.dim), np.float32)
    for start in range(0, rows.n_rows, size):
        yield rows.read(range(start, min(start + size, rows.n_rows)), out=buffer)


def count_block_rows(rows: Rows, *, n_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of rows per block."""
    return max(1, min(rows.n_rows, n_bytes // (4 * rows.dim)))
