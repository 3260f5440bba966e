"""How much each feature says about the class: mutual information from counts [CC, section 3.2].

``I(x; y) = H(y) + H(x) - H(x, y)`` in bits, with x rounded to its sign (at least 0, or below) or to
equal bins of its range. With several labels a row it is the sum of the informations about each
class being there or not. One pass over the rows counts; entropies follow from the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from myriad.arrays import Float
from myriad.codes.information_kernels import (
    count_bins,
    count_signs,
    find_ranges,
    mark_full,
    weigh_signs,
)
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.parallel import Team, team

BINS = (2, 4, 8, 16, 32)
"""Numbers of equal bins that a feature's range may be cut into."""
MEMORY = 1 << 30
"""Bytes of counters; where they would take more, the rows are read several times."""
_TILE = 16384  # features counted by one call
_ENTROPY_CELLS = 1 << 18  # counts whose entropy is computed at a time
_TABLE = 1 << 22  # rows up to which logarithms are looked up


Weigh = Callable[[NDArray[np.int64]], NDArray[np.float64]]
Read = Callable[[], Iterable[tuple[Float, LabelSets]]]
"""Passes over all rows, in blocks with their labels; called once for each pass that is needed."""


def measure_information(
    read: Read,
    *,
    dim: int,
    n_classes: int,
    bins: int | None = None,
    several: bool = False,
    threads: int | None = None,
    memory: int = MEMORY,
) -> NDArray[np.float64]:
    """Return the mutual information of each feature with the class, in bits, (dim,).

    Parameters
    ----------
    bins : None for the sign, else how many equal bins the range of a feature is cut into, which
        takes one more pass to find the ranges.
    several : whether rows may have several classes; see the top of this file.
    memory : bytes that counters may take; more passes are made where they would take more.
    """
    if bins is not None and bins not in BINS:
        raise InputError(f"Information is measured in {BINS} bins, not {bins!r}.")
    cell = 5 if bins is None else 4 * bins
    rows = n_classes + several
    most = max(1, memory // (cell * max(1, rows)))
    information = np.zeros(dim, np.float64)
    with team(threads) as crew:
        ranges = None if bins is None else _read_ranges(read, dim, crew)
        for first in range(0, dim, most):
            part = slice(first, min(first + most, dim))
            if ranges is None or bins is None:
                counts, sizes, total = _count_signs(read, part, rows, several, crew)
            else:
                counts, sizes, total = _count_bins(read, part, rows, several, bins, ranges, crew)
            if total == 0:
                raise InputError("Mutual information needs rows with known classes.")
            information[part] = _inform(counts, sizes, total, several)
    return information


def rank_features(information: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the numbers of the features, the most informative first, equals in their order."""
    return np.argsort(-information, kind="stable").astype(np.int32)


def _tiles(width: int) -> list[tuple[int, int]]:
    return [(first, min(first + _TILE, width)) for first in range(0, width, _TILE)]


def _call(kernel: Callable[..., None], work: tuple[Any, ...], tile: tuple[int, int]) -> None:
    kernel(*work, *tile)


def _blocks(read: Read, several: bool, rows: int) -> Iterable[tuple[Float, LabelSets]]:
    """Yield the blocks; with several labels every row that has any also has the last class."""
    for X, sets in read():
        if several:
            labelled = sets.sizes > 0
            starts = sets.starts + np.concatenate([[0], np.cumsum(labelled)])
            classes = np.insert(sets.classes, sets.starts[1:][labelled], rows - 1)
            sets = LabelSets(starts, classes.astype(np.int32))
        yield X, sets


def _count_signs(
    read: Read, part: slice, rows: int, several: bool, crew: Team
) -> tuple[NDArray[Any], NDArray[np.int64], int]:
    """Return the counts of values of at least 0, uint32 (rows, width), and of rows."""
    width = part.stop - part.start
    small = np.zeros((rows, width), np.uint8)
    counts = np.zeros((rows, width), np.uint32)
    held, sizes, total = np.zeros(rows, np.int64), np.zeros(rows, np.int64), 0
    for X, sets in _blocks(read, several, rows):
        full = np.zeros(len(sets.classes), np.bool_)
        mark_full(sets.classes, held, full)
        work = X[:, part], sets.starts, sets.classes, full, small, counts
        crew.share(partial(_call, count_signs, work), _tiles(width))
        sizes += sets.counts(rows)
        total += int((sets.sizes > 0).sum())
    counts += small
    return counts, sizes, total


def _read_ranges(read: Read, dim: int, crew: Team) -> tuple[Float, Float]:
    """Return the lowest and the highest value of each feature, in rows with a class."""
    lows = np.full(dim, np.inf, np.float32)
    highs = np.full(dim, -np.inf, np.float32)
    for X, sets in read():
        labelled = sets.sizes > 0
        known = X if labelled.all() else X[labelled]
        crew.share(partial(_call, find_ranges, (known, lows, highs)), _tiles(dim))
    return lows, highs


def _count_bins(
    read: Read,
    part: slice,
    rows: int,
    several: bool,
    bins: int,
    ranges: tuple[Float, Float],
    crew: Team,
) -> tuple[NDArray[Any], NDArray[np.int64], int]:
    """Return the counts in equal bins, uint32 (rows, width, bins), and of rows."""
    width = part.stop - part.start
    lows, highs = (limit[part] for limit in ranges)
    with np.errstate(invalid="ignore"):
        spans = highs.astype(np.float64) - lows
    scales = np.divide(bins, spans, out=np.zeros(width), where=spans > 0)
    counts = np.zeros((rows, width, bins), np.uint32)
    sizes, total = np.zeros(rows, np.int64), 0
    for X, sets in _blocks(read, several, rows):
        work = X[:, part], sets.starts, sets.classes, lows, scales, counts
        crew.share(partial(_call, count_bins, work), _tiles(width))
        sizes += sets.counts(rows)
        total += int((sets.sizes > 0).sum())
    return counts, sizes, total


def _inform(
    counts: NDArray[Any], sizes: NDArray[np.int64], total: int, several: bool
) -> NDArray[np.float64]:
    """Return the information of each feature from its counts, a few features at a time."""
    width = counts.shape[1]
    table = _tabulate(total) if total <= _TABLE else None
    if table is not None and counts.ndim == 2 and not several:
        joint, ones = np.zeros(width), np.zeros(width, np.int64)
        weigh_signs(counts, sizes, table, joint, ones)
        alone = table[ones] + table[total - ones]
        information = (joint - alone - table[sizes].sum() + table[total]) / total
        return np.maximum(information, 0.0)  # rounding may leave a tiny negative number
    weigh: Weigh = _weigh if table is None else table.take
    measure = _inform_about_each if several else _inform_about_one
    step = max(1, _ENTROPY_CELLS // counts[:, 0].size)
    information = np.empty(width, np.float64)
    for first in range(0, width, step):
        part = counts[:, first : first + step].astype(np.int64)
        if part.ndim == 2:
            part = np.stack([sizes[:, None] - part, part], axis=2)
        information[first : first + step] = measure(part, sizes, total, weigh)
    return np.maximum(information, 0.0)


def _inform_about_one(
    cells: NDArray[np.int64], sizes: NDArray[np.int64], total: int, weigh: Weigh
) -> NDArray[np.float64]:
    """Return the information about the class from `cells` (n_classes, width, n_bins)."""
    joint = weigh(cells).sum(axis=(0, 2))
    alone = weigh(cells.sum(axis=0)).sum(axis=1)
    return (joint - alone - weigh(sizes).sum() + weigh(np.array(total))) / total


def _inform_about_each(
    cells: NDArray[np.int64], sizes: NDArray[np.int64], total: int, weigh: Weigh
) -> NDArray[np.float64]:
    """Return the sum of the informations about each class; the last row counts all rows."""
    present, every, sizes = cells[:-1], cells[-1], sizes[:-1]
    joint = (weigh(present) + weigh(every - present)).sum(axis=(0, 2))
    alone = len(present) * weigh(every).sum(axis=1)
    classes = (weigh(sizes) + weigh(total - sizes)).sum()
    return (joint - alone - classes + len(present) * weigh(np.array(total))) / total


def _weigh(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``n log2 n``, which is 0 for none."""
    weighed: NDArray[np.float64] = xlogy(counts, counts) / np.log(2)
    return weighed


def _tabulate(total: int) -> NDArray[np.float64]:
    """Return ``n log2 n`` of all counts up to `total`: looking it up takes a tenth of the time."""
    return _weigh(np.arange(total + 1))
