"""Sources of rows: blocks of float32 rows, from arrays and stores alike.

The order of an epoch is random, with few random accesses to the disk. Rows are stored in groups
(shards, or runs of an array). Each epoch draws an order of the groups, cuts it into windows, and
shuffles the rows within each window: every row is visited once, and only one window of groups has
to be in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import SCALED_ROWS, Float, Ints, first_bad_row, refuse_extreme_scale
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.randomness import generator
from myriad.store.row_kernels import copy_rows

WINDOW_BYTES, WINDOW_GROUPS = 512 << 20, 64
"""Most bytes and most groups of rows that are shuffled together."""
SAMPLE_ROWS, SAMPLE_BYTES = 2048, 512 << 20
"""Most rows of a sample, and most memory that they may take."""
SCALED_BYTES = 64 << 20
"""Most memory of the rows whose scale is checked."""
_RUN_BYTES = 1 << 20
Fill = Callable[[NDArray[np.int64], Float], None]


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows.

    Attributes
    ----------
    index : int64 array of shape (m,), the numbers of the rows in their source.
    X : float32 array of shape (m, dim); in a zero-copy block, the array that contains the rows.
    positions : int64 array of shape (m,), the positions of the rows in X, in a zero-copy block;
        None otherwise.
    """

    index: NDArray[np.int64]
    X: Float
    positions: NDArray[np.int64] | None = None


class Rows(ABC):
    """A source of rows.

    Attributes
    ----------
    n_rows, dim : number of rows and of features.
    labels : int32 (n_rows,), class numbers, -1 if unknown; the lowest one if a row has several.
    sets : all labels of each row; None if rows have one label each.
    weights : float32 (n_rows,), the weight of each row; None if all are 1.
    groups : int32 (n_rows,), the group of each row, -1 for none; None if rows have no groups. Rows
        of one group are never divided between training and validation.
    class_names : the names of the classes.
    """

    n_rows: int
    dim: int
    labels: Ints
    class_names: list[str]
    sets: LabelSets | None = None
    weights: Float | None = None
    groups: Ints | None = None
    dtype: np.dtype[Any] = np.dtype(np.float32)

    @property
    def all_labels(self) -> LabelSets:
        """The labels of each row, also where rows have one each."""
        return LabelSets.from_labels(self.labels) if self.sets is None else self.sets

    def blocks(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Block]:
        """Yield all rows once, `size` at a time (the last block may be smaller).

        Without a seed rows come in stored order, with a seed in the `order` of that seed and epoch.
        Each block's `X` is a fresh C-contiguous array. The iterator may be used from any thread,
        one at a time.
        """
        if size < 1:
            raise InputError(f"A block must have at least one row, not {size}.")
        if seed is None:
            order = np.arange(self.n_rows, dtype=np.int64)
        else:
            order = self.order(seed=seed, epoch=epoch)
        return self._read_blocks(order, size)

    def zero_copy_blocks(self, size: int, *, seed: int, epoch: int) -> Iterator[Block] | None:
        """Yield the rows of `blocks` without copying them; None if that is not possible.

        The values of zero-copy rows are not checked: they may not be finite.
        """
        found = self._zero_copy()
        if found is None:
            return None
        X, chosen = found
        order = self.order(seed=seed, epoch=epoch)
        indices = (order[start : start + size] for start in range(0, len(order), size))
        return (Block(index, X, index if chosen is None else chosen[index]) for index in indices)

    def _zero_copy(self) -> tuple[Float, NDArray[np.int64] | None] | None:
        """Return an array in memory that contains the rows and their positions in it, or None.

        Positions are None if the rows are all rows of the array, in order.
        """
        return None

    def _read_blocks(self, order: NDArray[np.int64], size: int) -> Iterator[Block]:
        fill, close = self._ordered_reader(order)
        try:
            for start in range(0, len(order), size):
                index = order[start : start + size]
                X = np.empty((len(index), self.dim), self.dtype)
                fill(index, X)
                yield Block(index, X)
        finally:
            close()

    def read(self, indices: ArrayLike, *, out: Float | None = None) -> Float:
        """Return the rows with the given numbers, float32 (m, dim).

        Parameters
        ----------
        out : an array of at least m rows, of which the first m are overwritten and returned.
        """
        index = check_indices(indices, self.n_rows)
        X = np.empty((len(index), self.dim), self.dtype) if out is None else out[: len(index)]
        self._reader()(index, X)
        return X

    def origin(self) -> tuple[object, NDArray[np.int64]]:
        """Return the source that rows are read from, and their numbers in it, to identify them."""
        return self, np.arange(self.n_rows)

    @abstractmethod
    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the row numbers (n_rows,) in the order of `blocks`."""

    @abstractmethod
    def select(self, indices: ArrayLike) -> Rows:
        """Return the rows with the given numbers as a source; row j is row ``indices[j]``."""

    def _ordered_reader(self, order: NDArray[np.int64]) -> tuple[Fill, Callable[[], None]]:
        """Return a reader for rows in a given order, and a function that closes it."""
        return self._reader(), lambda: None

    @abstractmethod
    def _reader(self) -> Fill:
        """Return a function ``fill(index, X)`` that reads rows into X; it is for one thread."""


class ArrayRows(Rows):
    """Rows of an array or memory map of any numeric type, converted block by block.

    Parameters
    ----------
    X : (n_rows, dim) floats or integers; not copied. The attribute `X` is the complete array, also
        in selections, whose positions in it are `chosen`.
    y : class numbers (n_rows,), `LabelSets` for several per row, or None if unknown.
    class_names : names of the classes; by default their numbers.
    weights : the weight of each row (n_rows,).
    groups : the group of each row (n_rows,), -1 for none.
    dtype : type of the blocks; float64 is for comparisons, as kernels are made for float32.
    """

    def __init__(
        self,
        X: NDArray[Any],
        y: ArrayLike | LabelSets | None = None,
        class_names: Sequence[str] | None = None,
        *,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        dtype: Any = np.float32,
    ) -> None:
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
            raise InputError("Rows must be a two-dimensional array of numbers.")
        self.X = X
        self.chosen: NDArray[np.int64] | None = None
        self.dtype = np.dtype(dtype)
        self.n_rows, self.dim = X.shape
        if isinstance(y, LabelSets):
            self.sets = y
        labels = np.full(self.n_rows, -1) if y is None else _first_labels(y)
        if labels.shape != (self.n_rows,) or labels.dtype.kind not in "iu":
            raise InputError(f"{self.n_rows} rows need as many integers as labels.")
        numbers = labels if self.sets is None else self.sets.classes
        top = int(numbers.max(initial=-1))
        self.class_names = [str(c) for c in range(top + 1)]
        if class_names is not None:
            self.class_names = list(class_names)
        if labels.min(initial=0) < -1 or top >= len(self.class_names):
            raise InputError(f"Labels must be between -1 and {len(self.class_names) - 1}.")
        self.labels = labels.astype(np.int32)
        if weights is not None:
            self.weights = _check_weights(weights, self.n_rows)
        if groups is not None:
            self.groups = _check_groups(groups, self.n_rows)

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch.

        It depends on the shape only: runs of about 1 MB are drawn into windows of 512 MB, so that a
        memory map larger than the memory is read in large sections, and smaller arrays are fully
        shuffled.
        """
        run = max(1, _RUN_BYTES // (4 * max(1, self.dim)))
        numbers = np.arange(self.n_rows)
        groups = [numbers[start : start + run] for start in range(0, self.n_rows, run)]
        window = window_size(4 * run * self.dim, most=WINDOW_BYTES)
        return shuffle_groups(groups, window, seed=seed, epoch=epoch)

    def select(self, indices: ArrayLike) -> ArrayRows:
        """Return the rows with the given numbers; nothing is read or copied."""
        index = check_indices(indices, self.n_rows)
        selected = copy(self)
        selected.n_rows = len(index)
        selected.labels = self.labels[index]
        selected.sets = None if self.sets is None else self.sets.select(index)
        selected.weights = None if self.weights is None else self.weights[index]
        selected.groups = None if self.groups is None else self.groups[index]
        selected.chosen = index if self.chosen is None else self.chosen[index]
        return selected

    def origin(self) -> tuple[object, NDArray[np.int64]]:
        """Return the complete array and the positions of the rows in it."""
        return self.X, np.arange(self.n_rows) if self.chosen is None else self.chosen

    def _reader(self) -> Fill:
        return self._fill

    def _fill(self, index: NDArray[np.int64], out: Float) -> None:
        numbers = index if self.chosen is None else self.chosen[index]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.X.dtype in (np.float32, np.float64):
                squares = copy_rows(self.X, numbers, out)
            else:
                out[:] = self.X[numbers]
                squares = np.vdot(out, out)
        if not np.isfinite(squares):  # the sum of squares may also be too large
            refuse_bad(out, numbers)

    def _zero_copy(self) -> tuple[Float, NDArray[np.int64] | None] | None:
        flags, same = self.X.flags, self.X.dtype == self.dtype
        if not (same and flags.c_contiguous and flags.aligned) or _is_mapped(self.X):
            return None
        X = self.X.view(np.ndarray)
        X.flags.writeable = False
        return X, self.chosen


def with_features(X: NDArray[Any], rows: Rows) -> ArrayRows:
    """Return rows with other features, and the same labels, weights and groups."""
    found = ArrayRows(np.ascontiguousarray(X, np.float32), None, rows.class_names)
    found.labels, found.sets = rows.labels, rows.sets
    found.weights, found.groups = rows.weights, rows.groups
    return found


def refuse_bad(X: NDArray[Any], numbers: NDArray[np.int64]) -> None:
    """Raise `InputError` if a row has a value that is not finite; `numbers` are the row numbers."""
    bad = first_bad_row(X)
    if bad is not None:
        raise InputError(f"Row {numbers[bad]} has a NaN, infinite or too large value.")


def _is_mapped(X: Any) -> bool:
    """Return whether an array is memory-mapped."""
    while isinstance(X, np.ndarray):
        X = X.base
    return isinstance(X, mmap)


def _first_labels(y: ArrayLike | LabelSets) -> NDArray[Any]:
    return y.first() if isinstance(y, LabelSets) else np.asarray(y)


def _check_weights(weights: ArrayLike, n_rows: int) -> Float:
    checked = np.asarray(weights, np.float32)
    if checked.shape != (n_rows,):
        raise InputError(f"{n_rows} rows need as many weights, not {checked.shape}.")
    if not np.isfinite(checked).all() or (checked < 0).any():
        raise InputError("The weights of rows must be finite and not negative.")
    if n_rows and not checked.any():
        raise InputError("The weights of all rows are zero: there is nothing to train on.")
    return checked


def _check_groups(groups: ArrayLike, n_rows: int) -> Ints:
    checked = np.asarray(groups)
    if checked.shape != (n_rows,) or checked.dtype.kind not in "iu":
        raise InputError(f"{n_rows} rows need as many groups, not {checked.shape}.")
    return checked.astype(np.int32)


def check_indices(indices: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return row numbers as int64; raise `InputError` if one does not exist."""
    index = np.asarray(indices)
    if index.size == 0:
        index = index.astype(np.int64)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise InputError("Rows are selected by a list of row numbers.")
    if index.size and not 0 <= index.min() <= index.max() < n_rows:
        raise InputError(f"Row numbers must be between 0 and {n_rows - 1}.")
    return index.astype(np.int64)


def window_size(group_bytes: int, most: int = WINDOW_GROUPS) -> int:
    """Return how many groups of `group_bytes` each make a window."""
    return max(1, min(most, WINDOW_BYTES // max(1, group_bytes)))


def shuffle_groups(
    groups: Sequence[NDArray[np.int64]], window: int, *, seed: int, epoch: int
) -> NDArray[np.int64]:
    """Return the indices in `groups` in the order of one epoch.

    Parameters
    ----------
    groups : the indices of the rows of each group.
    window : how many groups are shuffled together.
    """
    random = generator(seed, f"row order of epoch {epoch}")
    order = random.permutation(len(groups))
    mixed = [
        random.permutation(np.concatenate([groups[g] for g in order[start : start + window]]))
        for start in range(0, len(order), window)
    ]
    return np.concatenate(mixed) if mixed else np.empty(0, np.int64)


def sample_rows(rows: Rows, *, most: int = SAMPLE_ROWS, seed: int) -> Float:
    """Return a random sample of at most `most` rows, the same one for the same seed."""
    most = max(1, min(most, SAMPLE_BYTES // (4 * rows.dim)))
    order = generator(seed, "rows to learn a code from").permutation(rows.n_rows)[:most]
    return rows.read(np.sort(order))


def check_scale(rows: Rows) -> None:
    """Raise `InputError` if products of the rows would overflow or vanish in float32."""
    n_rows = min(rows.n_rows, SCALED_ROWS, max(1, SCALED_BYTES // (4 * rows.dim)))
    refuse_extreme_scale(rows.read(np.arange(n_rows)))
