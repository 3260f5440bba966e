"""Counts of the rows of a store by workers that read them: see `codes.counting`.

A worker counts a range of rows and leaves what it counted in a file, since counters may take a
gigabyte; the counts of all ranges are added. Ranges end where blocks do, so that a row is read and
turned among the same rows wherever that is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import HadamardRotation
from myriad.codes.counting import Counter, Counts, Question, Ranges, StreamCounter
from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.measures import LabelSets
from myriad.parallel import Workers, open_threads
from myriad.progress import Advance
from myriad.store.rows import Block, Rows
from myriad.store.shared_rows import SharedRows, open_rows, share_rows

READ_BYTES = 16 << 20
"""Rows read at a time."""
PIECES = 4
"""Pieces a worker, at most, where rows are larger than counters."""
Piece = tuple[int, int]


def rows_at_a_time(dim: int) -> int:
    """Return how many rows of float32 to read at a time."""
    return max(1, min(4096, READ_BYTES // (4 * dim)))


def labels_of(rows: Rows, index: NDArray[np.int64]) -> LabelSets:
    """Return the labels of some rows as sets."""
    if rows.sets is not None:
        return rows.sets.select(index)
    return LabelSets.from_labels(rows.labels[index])


def turn_block(turning: HadamardRotation | None, block: Block) -> Block:
    """Return a block of turned rows."""
    return block if turning is None else Block(block.index, turning.turn(block.X))


@dataclass(frozen=True)
class RangeCounting:
    """Counts a range of rows, on whatever machine sees them."""

    rows: SharedRows
    turning: HadamardRotation | None

    def find_ranges(self, piece: Piece) -> Ranges:
        """Return the ranges of all features in the rows from the first to before the last."""
        with open_threads(1) as pool:
            rows = self._open(piece)
            return StreamCounter(partial(self._read, rows), pool).find_ranges(rows.dim)

    def count(self, question: Question, job: tuple[Path, Piece]) -> Path:
        """Leave the counts of a range of rows in a file; return which."""
        target, piece = job
        with open_threads(1) as pool:
            found = StreamCounter(partial(self._read, self._open(piece)), pool).count(question)
        with atomic_write(target, lasting=False) as beside:
            total = np.array([found.total])
            write_arrays(beside, {"cells": found.cells, "sizes": found.sizes, "total": total})
        return target

    def _open(self, piece: Piece) -> Rows:
        return open_rows(self.rows).select(np.arange(*piece))

    def _read(self, rows: Rows) -> Iterator[tuple[Float, LabelSets]]:
        for block in rows.blocks(rows_at_a_time(rows.dim)):
            yield turn_block(self.turning, block).X, labels_of(rows, block.index)


class SpreadCounter(Counter):
    """Counts rows by the workers of a place; its counts are those of `StreamCounter`."""

    def __init__(
        self, rows: Rows, turning: HadamardRotation | None, workers: Workers, advance: Advance
    ) -> None:
        self._workers, self._advance = workers, advance
        self._n_rows, self._dim = rows.n_rows, rows.dim
        self._folder = workers.begin("counts")
        self._numbers = count()
        self._counting = RangeCounting(share_rows(rows, self._folder), turning)
        workers.executor.require(*self._counting.rows.files)

    def close(self) -> None:
        """Remove what is left in the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def find_ranges(self, dim: int) -> Ranges:
        """Return the lowest and the highest value of each feature, in rows with a class."""
        lows = np.full(dim, np.inf, np.float32)
        highs = np.full(dim, -np.inf, np.float32)
        pieces = self._cut(8 * dim)
        for low, high in self._map(self._counting.find_ranges, pieces, pieces):
            np.minimum(lows, low, out=lows)
            np.maximum(highs, high, out=highs)
        return lows, highs

    def count(self, question: Question) -> Counts:
        """Return what a question asks for."""
        width = question.last - question.first
        shape = (question.height, width, *([question.bins] if question.bins else []))
        found = Counts(np.zeros(shape, np.uint32), np.zeros(question.height, np.int64), 0)
        pieces = self._cut(found.cells.nbytes)
        jobs = [(self._folder / f"{next(self._numbers)}.safetensors", piece) for piece in pieces]
        for path in self._map(partial(self._counting.count, question), jobs, pieces):
            counted = read_arrays(path)
            found.add(Counts(counted["cells"], counted["sizes"], int(counted["total"][0])))
            path.unlink()
        return found

    def _cut(self, counted_bytes: int) -> list[Piece]:
        """Return the ranges of rows: several a worker, unless counts would outweigh the rows."""
        workers, size = self._workers.executor.n_workers, rows_at_a_time(self._dim)
        n_blocks = -(-self._n_rows // size)
        useful = 4 * self._n_rows * self._dim // max(1, counted_bytes)
        n_pieces = min(max(workers, min(PIECES * workers, useful)), n_blocks)
        parts = np.array_split(np.arange(n_blocks), n_pieces) if n_blocks else []
        return [
            (int(part[0]) * size, min((int(part[-1]) + 1) * size, self._n_rows)) for part in parts
        ]

    def _map(
        self, function: Callable[[Any], Any], jobs: list[Any], pieces: list[Piece]
    ) -> Iterator[Any]:
        found = self._workers.executor.map(function, jobs)
        for (first, last), result in zip(pieces, found, strict=True):
            yield result
            self._advance(last - first)
