"""Count the values of rows on several workers; see `codes.counting`.

A worker counts a range of rows and writes the counts to a file, because they may take a gigabyte;
the counts of all ranges are added. Ranges end at the boundaries of blocks, so that a row is read
and mapped together with the same rows on any number of workers.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import information_from_counter, measure_information
from myriad.codes.counting import Counter, CountRequest, Counts, Ranges, StreamCounter
from myriad.codes.spec import RowMap
from myriad.files import atomic_write, read_arrays, write_arrays
from myriad.measures import LabelSets
from myriad.parallel import Workers, map_ordered, open_threads, thread_executor
from myriad.progress import SILENT, Advance, Progress
from myriad.store.rows import Block, Rows
from myriad.store.shared_rows import SharedRows, open_rows, share_rows

READ_BYTES = 16 << 20
"""Bytes of the rows that are read at a time."""
RANGES_PER_WORKER = 4
"""Most ranges per worker; there are fewer where the counts are larger than the rows."""
RowRange = tuple[int, int]


def rows_at_a_time(dim: int) -> int:
    """Return how many rows of float32 to read at a time."""
    return max(1, min(4096, READ_BYTES // (4 * dim)))


def labels_of(rows: Rows, index: NDArray[np.int64]) -> LabelSets:
    """Return the labels of the rows at `index` as label sets."""
    if rows.sets is not None:
        return rows.sets.select(index)
    return LabelSets.from_labels(rows.labels[index])


def transform_block(row_map: RowMap | None, block: Block) -> Block:
    """Return a block with its rows mapped; the same block if `row_map` is None."""
    return block if row_map is None else Block(block.index, row_map.transform(block.X))


@dataclass(frozen=True)
class RangeCounter:
    """Counts a range of rows; it can be sent to a worker on another machine."""

    rows: SharedRows
    row_map: RowMap | None

    def find_ranges(self, rows_range: RowRange) -> Ranges:
        """Return the smallest and the largest value of each feature in a range of rows."""
        with open_threads(1) as pool:
            rows = self._open(rows_range)
            width = rows.dim if self.row_map is None else self.row_map.width
            return StreamCounter(partial(self._read, rows), pool).find_ranges(width)

    def count(self, request: CountRequest, job: tuple[Path, RowRange]) -> Path:
        """Write the counts of a range of rows to a file; return its path."""
        target, rows_range = job
        with open_threads(1) as pool:
            found = StreamCounter(partial(self._read, self._open(rows_range)), pool).count(request)
        with atomic_write(target, durable=False) as partial_path:
            total = np.array([found.total])
            write_arrays(partial_path, {"cells": found.cells, "sizes": found.sizes, "total": total})
        return target

    def _open(self, rows_range: RowRange) -> Rows:
        return open_rows(self.rows).select(np.arange(*rows_range))

    def _read(self, rows: Rows) -> Iterator[tuple[Float, LabelSets]]:
        for block in rows.blocks(rows_at_a_time(rows.dim)):
            yield transform_block(self.row_map, block).X, labels_of(rows, block.index)


class DistributedCounter(Counter):
    """Counts rows on several workers; the counts equal those of `StreamCounter`."""

    def __init__(
        self, rows: Rows, row_map: RowMap | None, workers: Workers, advance: Advance
    ) -> None:
        self._workers, self._advance = workers, advance
        self._n_rows, self._dim = rows.n_rows, rows.dim
        self._folder = workers.make_folder("counts")
        self._numbers = count()
        self._counter = RangeCounter(share_rows(rows, self._folder), row_map)
        workers.executor.require(*self._counter.rows.files)

    def close(self) -> None:
        """Remove the folder of counts."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def find_ranges(self, dim: int) -> Ranges:
        """Return the lowest and the highest value of each feature, in rows that have a class."""
        lows = np.full(dim, np.inf, np.float32)
        highs = np.full(dim, -np.inf, np.float32)
        ranges = self._cut(8 * dim)
        for low, high in self._map(self._counter.find_ranges, ranges, ranges):
            np.minimum(lows, low, out=lows)
            np.maximum(highs, high, out=highs)
        return lows, highs

    def count(self, request: CountRequest) -> Counts:
        """Return the counts of a range of features."""
        width = request.last - request.first
        shape = (request.height, width, *([request.bins] if request.bins else []))
        found = Counts(np.zeros(shape, np.uint32), np.zeros(request.height, np.int64), 0)
        ranges = self._cut(found.cells.nbytes)
        jobs = [(self._folder / f"{next(self._numbers)}.safetensors", one) for one in ranges]
        for path in self._map(partial(self._counter.count, request), jobs, ranges):
            counted = read_arrays(path)
            found.add(Counts(counted["cells"], counted["sizes"], int(counted["total"][0])))
            path.unlink()
        return found

    def _cut(self, counted_bytes: int) -> list[RowRange]:
        """Return the ranges of rows: several per worker, unless counts are larger than rows."""
        workers, size = self._workers.executor.n_workers, rows_at_a_time(self._dim)
        n_blocks = -(-self._n_rows // size)
        useful = 4 * self._n_rows * self._dim // max(1, counted_bytes)
        n_ranges = min(max(workers, min(RANGES_PER_WORKER * workers, useful)), n_blocks)
        groups = np.array_split(np.arange(n_blocks), n_ranges) if n_blocks else []
        return [
            (int(group[0]) * size, min((int(group[-1]) + 1) * size, self._n_rows))
            for group in groups
        ]

    def _map(
        self, function: Callable[[Any], Any], jobs: list[Any], ranges: list[RowRange]
    ) -> Iterator[Any]:
        found = self._workers.executor.map(function, jobs)
        for (first, last), result in zip(ranges, found, strict=True):
            yield result
            self._advance(last - first)


def feature_information(
    rows: Rows,
    *,
    bins: int | None = None,
    row_map: RowMap | None = None,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.float64]:
    """Return the mutual information of each feature and the class, in bits, float64 (dim,).

    Rows are read block by block, see `measure_information`.

    Parameters
    ----------
    bins : number of equal bins of each feature; None to use the sign.
    row_map : map that is applied to rows before their features are measured; None for none.
    workers : the workers that count; None for this process. The result is the same, bit for bit.
    """
    n_passes = 1 if bins is None else 2
    options: dict[str, Any] = {
        "dim": rows.dim if row_map is None else row_map.width,
        "n_classes": len(rows.class_names),
        "bins": bins,
        "several": rows.sets is not None,
    }
    with progress.step("Computing mutual information", n_passes * rows.n_rows, "rows") as advance:

        def read() -> Iterator[tuple[Float, LabelSets]]:
            with thread_executor(threads) as executor:
                blocks = rows.blocks(rows_at_a_time(rows.dim))
                if row_map is not None:
                    transform = partial(transform_block, row_map)
                    blocks = map_ordered(transform, blocks, executor, ahead=4)
                for block in blocks:
                    yield block.X, labels_of(rows, block.index)
                    advance(len(block.X))

        if workers is None:
            return measure_information(read, threads=threads, **options)
        with closing(DistributedCounter(rows, row_map, workers, advance)) as counter:
            return information_from_counter(counter, **options)
