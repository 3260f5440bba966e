"""What trainers read: rows of float32 in blocks, from arrays and stores alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import Float, Ints, first_bad_row
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.store.row_kernels import copy_rows
from myriad.store.shuffling import WINDOW_BYTES, shuffle_groups, window_size

_RUN_BYTES = 1 << 20
Fill = Callable[[NDArray[np.int64], Float], None]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows.

    Attributes
    ----------
    index : int64 array of shape (m,), their numbers among the rows of the source.
    X : float32 array of shape (m, dim); of a block that is lent, the array its rows lie in.
    positions : their rows of X then, int64 of shape (m,), else None.
    """

    index: NDArray[np.int64]
    X: Float
    positions: NDArray[np.int64] | None = None


class Rows(ABC):
    """A source of rows.

    Attributes
    ----------
    n_rows, dim : its shape.
    labels : int32 (n_rows,), class numbers, -1 where unknown; of several labels the lowest.
    sets : all labels of each row, or None where rows have one.
    weights : float32 (n_rows,), how much each row counts, or None where all count 1.
    class_names : the names of the classes.
    """

    n_rows: int
    dim: int
    labels: Ints
    class_names: list[str]
    sets: LabelSets | None = None
    weights: Float | None = None
    dtype: np.dtype[Any] = np.dtype(np.float32)

    def blocks(self, size: int, *, seed: int | None = None, epoch: int = 0) -> Iterator[Block]:
        """Yield all rows once, `size` at a time (the last block may be smaller).

        Without a seed they come in stored order, with one in the `order` of that seed and epoch.
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
        """Yield what `blocks` does without copying, or return None where rows must be made.

        Rows that are lent have not been looked at: numbers in them may not be finite.
        """
        lent = self._lend()
        if lent is None:
            return None
        X, chosen = lent
        order = self.order(seed=seed, epoch=epoch)
        parts = (order[start : start + size] for start in range(0, len(order), size))
        return (Block(part, X, part if chosen is None else chosen[part]) for part in parts)

    def _lend(self) -> tuple[Float, NDArray[np.int64] | None] | None:
        """Return the array in memory that has the rows as they are, and which of it they are."""
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

    def read(self, indices: ArrayLike) -> Float:
        """Return the rows with these numbers, float32 (m, dim)."""
        index = check_indices(indices, self.n_rows)
        X = np.empty((len(index), self.dim), self.dtype)
        self._reader()(index, X)
        return X

    @abstractmethod
    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the numbers of the rows (n_rows,) in the order that `blocks` follows."""

    @abstractmethod
    def select(self, indices: ArrayLike) -> Rows:
        """Return the rows with these numbers as a source; its row j is row ``indices[j]``."""

    def _ordered_reader(self, order: NDArray[np.int64]) -> tuple[Fill, Callable[[], None]]:
        """Return a reader of rows that are wanted in this order, and what ends it."""
        return self._reader(), lambda: None

    @abstractmethod
    def _reader(self) -> Fill:
        """Return a function that fills X with the rows of an index, for use in one thread."""


class ArrayRows(Rows):
    """Rows of an array or memory map of any float type, converted a block at a time.

    Parameters
    ----------
    X : (n_rows, dim) floats or integers; not copied. Kept whole as the attribute `X`, also by the
        selections made of these rows, whose numbers in it are `chosen`.
    y : class numbers (n_rows,), `LabelSets` for several a row, or None if unknown.
    class_names : names of the classes; by default their numbers.
    weights : how much each row counts (n_rows,).
    dtype : of the blocks; float64 is for comparisons, since kernels are made for float32.
    """

    def __init__(
        self,
        X: NDArray[Any],
        y: ArrayLike | LabelSets | None = None,
        class_names: Sequence[str] | None = None,
        *,
        weights: ArrayLike | None = None,
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
            raise InputError(f"{self.n_rows} rows need as many whole numbers as labels.")
        numbers = labels if self.sets is None else self.sets.classes
        top = int(numbers.max(initial=-1))
        self.class_names = [str(c) for c in range(top + 1)]
        if class_names is not None:
            self.class_names = list(class_names)
        if labels.min(initial=0) < -1 or top >= len(self.class_names):
            raise InputError(f"Labels must lie between -1 and {len(self.class_names) - 1}.")
        self.labels = labels.astype(np.int32)
        if weights is not None:
            self.weights = _check_weights(weights, self.n_rows)

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch.

        It depends on the shape alone: runs of about 1 MB are drawn into windows of 512 MB, so that
        a memory map larger than the memory is read in pieces, and smaller arrays are fully mixed.
        """
        run = max(1, _RUN_BYTES // (4 * max(1, self.dim)))
        numbers = np.arange(self.n_rows)
        groups = [numbers[start : start + run] for start in range(0, self.n_rows, run)]
        window = window_size(4 * run * self.dim, most=WINDOW_BYTES)
        return shuffle_groups(groups, window, seed=seed, epoch=epoch)

    def select(self, indices: ArrayLike) -> ArrayRows:
        """Return the rows with these numbers; nothing is read or copied."""
        index = check_indices(indices, self.n_rows)
        selected = copy(self)
        selected.n_rows = len(index)
        selected.labels = self.labels[index]
        selected.sets = None if self.sets is None else self.sets.select(index)
        selected.weights = None if self.weights is None else self.weights[index]
        selected.chosen = index if self.chosen is None else self.chosen[index]
        return selected

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

    def _lend(self) -> tuple[Float, NDArray[np.int64] | None] | None:
        flags, same = self.X.flags, self.X.dtype == self.dtype
        if not (same and flags.c_contiguous and flags.aligned) or _is_mapped(self.X):
            return None
        X = self.X.view(np.ndarray)
        X.flags.writeable = False
        return X, self.chosen


def refuse_bad(X: NDArray[Any], numbers: NDArray[np.int64]) -> None:
    """Raise an error if there is a row with a number that is not finite."""
    bad = first_bad_row(X)
    if bad is not None:
        raise InputError(f"Row {numbers[bad]} has a NaN, infinite or too large value.")


def _is_mapped(X: Any) -> bool:
    """Tell whether an array is read from a file as it is looked at."""
    while isinstance(X, np.ndarray):
        X = X.base
    return isinstance(X, mmap)


def _first_labels(y: ArrayLike | LabelSets) -> NDArray[Any]:
    return y.first() if isinstance(y, LabelSets) else np.asarray(y)


def _check_weights(weights: ArrayLike, n_rows: int) -> Float:
    found = np.asarray(weights, np.float32)
    if found.shape != (n_rows,):
        raise InputError(f"{n_rows} rows need as many weights, not {found.shape}.")
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError("The weights of rows must be numbers from 0 on.")
    if n_rows and not found.any():
        raise InputError("The weights of all rows are zero: nothing is left to train on.")
    return found


def check_indices(indices: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return row numbers as int64 after making sure that such rows exist."""
    index = np.asarray(indices)
    if index.size == 0:
        index = index.astype(np.int64)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise InputError("Rows are selected by a list of row numbers.")
    if index.size and not 0 <= index.min() <= index.max() < n_rows:
        raise InputError(f"Row numbers must lie between 0 and {n_rows - 1}.")
    return index.astype(np.int64)
