"""Mutual information of each feature with the class, from counts [CC, section 3.2].

``I(x; y) = H(y) + H(x) - H(x, y)`` in bits, with x quantised to its sign (at least 0, or below) or
to equal bins of its range. For rows with several labels it is the sum over the classes of the
information about the presence of the class. One pass over the rows counts; the entropies follow
from the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes.counting import Counter, CountRequest, Read, StreamCounter
from myriad.codes.information_kernels import sum_n_log_n
from myriad.codes.registry import BINS
from myriad.errors import InputError
from myriad.parallel import open_threads

MEMORY = 1 << 30
"""Most bytes of counters; where they would take more, the rows are read several times."""
_ENTROPY_CELLS = 1 << 18  # counts whose entropy is computed at a time
_TABLE = 1 << 22  # number of rows up to which logarithms are looked up in a table

NLogN = Callable[[NDArray[np.int64]], NDArray[np.float64]]


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
    read : yields blocks of rows with their labels; called once for each pass.
    bins : None for the sign, else the number of equal bins of the range of a feature, which takes
        one more pass to find the ranges.
    several : whether rows may have several classes; see the top of this file.
    memory : most bytes of counters; more passes are made where they would take more.
    """
    with open_threads(threads) as pool:
        counter = StreamCounter(read, pool)
        return information_from_counter(
            counter, dim=dim, n_classes=n_classes, bins=bins, several=several, memory=memory
        )


def information_from_counter(
    counter: Counter,
    *,
    dim: int,
    n_classes: int,
    bins: int | None = None,
    several: bool = False,
    memory: int = MEMORY,
) -> NDArray[np.float64]:
    """Return what `measure_information` does, from the counts of any `Counter`."""
    if bins is not None and bins not in BINS:
        raise InputError(f"Information is measured in {BINS} bins, not {bins!r}.")
    cell = 5 if bins is None else 4 * bins
    height = n_classes + several
    most = max(1, memory // (cell * max(1, height)))
    information = np.zeros(dim, np.float64)
    ranges = None if bins is None else counter.find_ranges(dim)
    for first in range(0, dim, most):
        last = min(first + most, dim)
        limits = None if ranges is None else (ranges[0][first:last], ranges[1][first:last])
        counts = counter.count(CountRequest(first, last, height, several, bins, limits))
        if counts.total == 0:
            raise InputError("Mutual information needs rows with known classes.")
        information[first:last] = _information_from_counts(
            counts.cells, counts.sizes, counts.total, several
        )
    return information


def rank_features(information: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the indices of the features, the most informative first, ties in their order."""
    return np.argsort(-information, kind="stable").astype(np.int32)


def _information_from_counts(
    counts: NDArray[Any], sizes: NDArray[np.int64], total: int, several: bool
) -> NDArray[np.float64]:
    """Return the information of each feature from its counts, float64 (width,).

    Parameters
    ----------
    counts : `Counts.cells`, (height, width) or (height, width, bins).
    sizes : rows of each class.
    total : rows with a class.
    several : whether rows may have several classes.
    """
    width = counts.shape[1]
    table = _tabulate_n_log_n(total) if total <= _TABLE else None
    if table is not None and counts.ndim == 2 and not several:
        joint, ones = np.zeros(width), np.zeros(width, np.int64)
        sum_n_log_n(counts, sizes, table, joint, ones)
        alone = table[ones] + table[total - ones]
        information = (joint - alone - table[sizes].sum() + table[total]) / total
        return np.maximum(information, 0.0)  # rounding may leave a tiny negative number
    n_log_n: NLogN = _n_log_n if table is None else table.take
    measure = _multi_label_information if several else _single_label_information
    step = max(1, _ENTROPY_CELLS // counts[:, 0].size)
    information = np.empty(width, np.float64)
    for first in range(0, width, step):
        some = counts[:, first : first + step].astype(np.int64)
        if some.ndim == 2:
            some = np.stack([sizes[:, None] - some, some], axis=2)
        information[first : first + step] = measure(some, sizes, total, n_log_n)
    return np.maximum(information, 0.0)


def _single_label_information(
    cells: NDArray[np.int64], sizes: NDArray[np.int64], total: int, n_log_n: NLogN
) -> NDArray[np.float64]:
    """Return the information about the class, from counts `cells` (n_classes, width, n_bins)."""
    joint = n_log_n(cells).sum(axis=(0, 2))
    alone = n_log_n(cells.sum(axis=0)).sum(axis=1)
    return (joint - alone - n_log_n(sizes).sum() + n_log_n(np.array(total))) / total


def _multi_label_information(
    cells: NDArray[np.int64], sizes: NDArray[np.int64], total: int, n_log_n: NLogN
) -> NDArray[np.float64]:
    """Return the sum over classes of the information about each; the last row counts all rows."""
    present, every, sizes = cells[:-1], cells[-1], sizes[:-1]
    joint = (n_log_n(present) + n_log_n(every - present)).sum(axis=(0, 2))
    alone = len(present) * n_log_n(every).sum(axis=1)
    classes = (n_log_n(sizes) + n_log_n(total - sizes)).sum()
    return (joint - alone - classes + len(present) * n_log_n(np.array(total))) / total


def _n_log_n(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ``n log2 n``, which is 0 for n = 0."""
    from scipy.special import xlogy

    values: NDArray[np.float64] = xlogy(counts, counts) / np.log(2)
    return values


def _tabulate_n_log_n(total: int) -> NDArray[np.float64]:
    """Return ``n log2 n`` of all counts up to `total`: a look-up takes a tenth of the time."""
    return _n_log_n(np.arange(total + 1))
