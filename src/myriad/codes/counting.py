"""Counts of the values of features in each bin, by class; see `information`.

Counts are integers: however the rows are divided among workers, the sums are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes.information_kernels import count_bins, count_signs, find_ranges, mark_full
from myriad.measures import LabelSets
from myriad.parallel import ThreadPool

_TILE = 16384  # features counted by one call

Ranges = tuple[Float, Float]
"""The lowest and the highest value of each feature, float32 (dim,) both."""
Read = Callable[[], Iterable[tuple[Float, LabelSets]]]
"""Yields all rows in blocks with their labels; called once for each pass that is needed."""


@dataclass(frozen=True, eq=False)
class CountRequest:
    """The values to count in one pass.

    Attributes
    ----------
    first, last : the range of features, `last` excluded.
    height : number of rows of counters: one per class, and one more for all rows if `several`.
    several : whether rows may have several classes.
    bins : number of equal bins of a range, or None for the sign.
    ranges : those of these features, if there are bins.
    """

    first: int
    last: int
    height: int
    several: bool
    bins: int | None = None
    ranges: Ranges | None = None


@dataclass(eq=False)
class Counts:
    """The counts of all rows or of some.

    Attributes
    ----------
    cells : uint32 (height, width), numbers of values of at least 0; or (height, width, bins).
    sizes : int64 (height,), number of rows of each class.
    total : number of rows with a class.
    """

    cells: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    total: int

    def add(self, other: Counts) -> None:
        """Add the counts of other rows."""
        self.cells += other.cells
        self.sizes += other.sizes
        self.total += other.total


class Counter(ABC):
    """The base class of counters, which count the values of all rows."""

    @abstractmethod
    def find_ranges(self, dim: int) -> Ranges:
        """Return the lowest and the highest value of each feature, in rows with a class."""

    @abstractmethod
    def count(self, request: CountRequest) -> Counts:
        """Return the counts of a range of features."""


class StreamCounter(Counter):
    """Counts the rows of a stream, with the features divided among threads."""

    def __init__(self, read: Read, pool: ThreadPool) -> None:
        self._read, self._pool = read, pool

    def find_ranges(self, dim: int) -> Ranges:
        """Return the lowest and the highest value of each feature, in rows with a class."""
        lows = np.full(dim, np.inf, np.float32)
        highs = np.full(dim, -np.inf, np.float32)
        for X, sets in self._read():
            labelled = sets.sizes > 0
            known = X if labelled.all() else X[labelled]
            self._share(find_ranges, (known, lows, highs), dim)
        return lows, highs

    def count(self, request: CountRequest) -> Counts:
        """Return the counts of a range of features."""
        return self._count_signs(request) if request.bins is None else self._count_bins(request)

    def _count_signs(self, request: CountRequest) -> Counts:
        """Count values of at least 0, in bytes that are added to uint32 before they overflow."""
        shape = request.height, request.last - request.first
        small, cells = np.zeros(shape, np.uint8), np.zeros(shape, np.uint32)
        held = np.zeros(request.height, np.int64)
        found = Counts(cells, np.zeros_like(held), 0)
        for X, sets in self._blocks(request):
            full = np.zeros(len(sets.classes), np.bool_)
            mark_full(sets.classes, held, full)
            columns = X[:, request.first : request.last]
            work = columns, sets.starts, sets.classes, full, small, cells
            self._share(count_signs, work, shape[1])
            _count_rows(found, sets)
        cells += small
        return found

    def _count_bins(self, request: CountRequest) -> Counts:
        """Count values in equal bins of the range of each feature."""
        assert request.bins is not None
        assert request.ranges is not None
        bins, (lows, highs) = request.bins, request.ranges
        width = request.last - request.first
        with np.errstate(invalid="ignore"):
            spans = highs.astype(np.float64) - lows
        scales = np.divide(bins, spans, out=np.zeros(width), where=spans > 0)
        cells = np.zeros((request.height, width, bins), np.uint32)
        found = Counts(cells, np.zeros(request.height, np.int64), 0)
        for X, sets in self._blocks(request):
            columns = X[:, request.first : request.last]
            work = columns, sets.starts, sets.classes, lows, scales, cells
            self._share(count_bins, work, width)
            _count_rows(found, sets)
        return found

    def _blocks(self, request: CountRequest) -> Iterable[tuple[Float, LabelSets]]:
        """Yield the blocks; if `several`, every row with a label also gets the extra last class."""
        for X, sets in self._read():
            if request.several:
                labelled = sets.sizes > 0
                starts = sets.starts + np.concatenate([[0], np.cumsum(labelled)])
                ends = sets.starts[1:][labelled]
                classes = np.insert(sets.classes, ends, request.height - 1)
                sets = LabelSets(starts, classes.astype(np.int32))
            yield X, sets

    def _share(self, kernel: Callable[..., None], work: tuple[Any, ...], width: int) -> None:
        tiles = [(first, min(first + _TILE, width)) for first in range(0, width, _TILE)]
        self._pool.share(partial(_call, kernel, work), tiles)


def _call(kernel: Callable[..., None], work: tuple[Any, ...], tile: tuple[int, int]) -> None:
    kernel(*work, *tile)


def _count_rows(found: Counts, sets: LabelSets) -> None:
    found.sizes += sets.counts(len(found.sizes))
    found.total += int((sets.sizes > 0).sum())
