"""Views of rows: centred or scaled features, balanced classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import Float
from myriad.randomness import generator
from myriad.store.rows import Fill, Rows

DEVIATION_ROWS = 20_000
"""Number of rows from which the standard deviations of features are estimated."""
PROJECTED_ROWS = 256
"""Number of rows that are projected by one product."""


class View(Rows):
    """Rows based on other rows; the base class of all views."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._copy_labels(rows)

    def _copy_labels(self, rows: Rows) -> None:
        self.n_rows, self.dim, self.dtype = rows.n_rows, rows.dim, rows.dtype
        self.labels, self.sets, self.weights = rows.labels, rows.sets, rows.weights
        self.groups = rows.groups
        self.class_names = rows.class_names

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the order of an epoch."""
        return self.rows.order(seed=seed, epoch=epoch)

    def select(self, indices: ArrayLike) -> Rows:
        """Return the same view of some of the rows."""
        selected = copy(self)
        selected.rows = self.rows.select(indices)
        selected._copy_labels(selected.rows)
        return selected

    def _zero_copy(self) -> tuple[Float, NDArray[np.int64] | None] | None:
        return self.rows._zero_copy()

    def _reader(self) -> Fill:
        return self.rows._reader()

    def _ordered_reader(self, order: NDArray[np.int64]) -> tuple[Fill, Callable[[], None]]:
        return self.rows._ordered_reader(order)


class ComputedRows(View):
    """Rows that are computed from other rows when they are read; the base class."""

    @abstractmethod
    def _transformed(self, fill: Fill) -> Fill:
        """Return a function that reads these rows, given one that reads the others."""

    def _zero_copy(self) -> None:
        return None

    def _reader(self) -> Fill:
        return self._transformed(self.rows._reader())

    def _ordered_reader(self, order: NDArray[np.int64]) -> tuple[Fill, Callable[[], None]]:
        fill, close = self.rows._ordered_reader(order)
        return self._transformed(fill), close


class TransformedRows(ComputedRows):
    """Rows that are transformed in place; base class of `ScaledRows`, `CentredRows`."""

    @abstractmethod
    def transform_in_place(self, X: Float) -> None:
        """Transform rows of shape (m, dim) in place."""

    def _transformed(self, fill: Fill) -> Fill:
        def fill_transformed(index: NDArray[np.int64], out: Float) -> None:
            fill(index, out)
            self.transform_in_place(out)

        return fill_transformed


class ScaledRows(TransformedRows):
    """Rows whose features are each multiplied by a factor.

    Parameters
    ----------
    scale : float32 (dim,)
    """

    def __init__(self, rows: Rows, scale: Float) -> None:
        super().__init__(rows)
        self.scale = scale.astype(rows.dtype)

    def transform_in_place(self, X: Float) -> None:
        """Scale the features of rows."""
        X *= self.scale


class CentredRows(TransformedRows):
    """Rows from which a vector, usually their mean, is subtracted.

    Sparse rows stay sparse in memory: only the block that is read is dense.

    Parameters
    ----------
    mean : float32 (dim,)
    """

    def __init__(self, rows: Rows, mean: Float) -> None:
        super().__init__(rows)
        self.mean = mean.astype(rows.dtype)

    def transform_in_place(self, X: Float) -> None:
        """Subtract the mean from rows."""
        X -= self.mean


class ProjectedRows(ComputedRows):
    """Rows ``x P - o`` for a matrix P and a vector o, computed when they are read.

    Parameters
    ----------
    projection : float32 array P of shape (rows.dim, dim)
    offset : float32 array o of shape (dim,)
    """

    def __init__(self, rows: Rows, projection: Float, offset: Float) -> None:
        self.projection = projection.astype(rows.dtype)
        self.offset = offset.astype(rows.dtype)
        super().__init__(rows)

    def _copy_labels(self, rows: Rows) -> None:
        super()._copy_labels(rows)
        self.dim = self.projection.shape[1]

    def _transformed(self, fill: Fill) -> Fill:
        X = np.empty((PROJECTED_ROWS, self.rows.dim), self.dtype)

        def fill_projected(index: NDArray[np.int64], out: Float) -> None:
            for start in range(0, len(index), PROJECTED_ROWS):
                some = index[start : start + PROJECTED_ROWS]
                part = out[start : start + PROJECTED_ROWS]
                fill(some, X[: len(some)])
                np.matmul(X[: len(some)], self.projection, out=part)
                part -= self.offset

        return fill_projected


class BalancedRows(View):
    """Rows drawn with replacement: a class, all equally likely, then a row of that class.

    An epoch has as many draws as there are rows [GP, Eq. 4].
    """

    def order(self, *, seed: int, epoch: int) -> NDArray[np.int64]:
        """Return the rows drawn in an epoch."""
        known = np.flatnonzero(self.labels >= 0)
        by_class = known[np.argsort(self.labels[known], kind="stable")]
        classes, starts = np.unique(self.labels[by_class], return_index=True)
        sizes = np.diff(np.append(starts, len(by_class)))
        draw = generator(seed, f"balanced rows {epoch}")
        drawn = draw.integers(len(classes), size=self.n_rows)
        positions = starts[drawn] + (draw.random(self.n_rows) * sizes[drawn]).astype(np.int64)
        return by_class[positions].astype(np.int64)


UNEVEN = 100.0
"""The largest variance of a feature, as a multiple of the median, above which scaling may help."""


def unit_variance(rows: Rows) -> Float:
    """Return the factors that give each feature unit variance, estimated from some rows.

    The factors are scaled so that the mean squared norm of rows does not change, and the same
    learning rates suit both. The variance of features that hardly vary is bounded from below.
    """
    means, squares = _mean_over_rows(rows, _sum_rows, _sum_squares)
    variance = np.maximum(squares - means**2, 0.0)
    if not variance.any():
        return np.ones(rows.dim, np.float32)
    # Not of the mean, which a single feature of other units can make as large as it likes.
    floor = 1e-6 * np.median(variance[variance > 0])
    scale = 1.0 / np.sqrt(np.maximum(variance, floor))
    scale *= np.sqrt(squares.sum() / (squares * scale**2).sum())
    return scale.astype(np.float32)


def is_uneven(rows: Rows) -> bool:
    """Return whether features differ very much in variance, such as those in several units."""
    means, squares = _mean_over_rows(rows, _sum_rows, _sum_squares)
    variance = squares - means**2
    varying = variance[variance > 0]
    return len(varying) > 0 and bool(varying.max() > UNEVEN * np.median(varying))


def feature_means(rows: Rows) -> NDArray[np.float64]:
    """Return the mean of each feature, estimated from some rows."""
    return _mean_over_rows(rows, _sum_rows)[0]


def feature_squares(rows: Rows) -> NDArray[np.float64]:
    """Return the mean square of each feature, estimated from some rows."""
    return _mean_over_rows(rows, _sum_squares)[0]


def _mean_over_rows(
    rows: Rows, *sums: Callable[[Float], NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """Return the means over some rows of what functions sum over the rows of a block."""
    size = max(1, min(1024, (16 << 20) // (4 * rows.dim)))
    totals, n = [np.zeros(rows.dim) for _ in sums], 0
    for block in rows.blocks(size):
        for total, add in zip(totals, sums, strict=True):
            total += add(block.X)
        n += len(block.X)
        if n >= DEVIATION_ROWS:
            break
    return [total / n for total in totals]


def _sum_rows(X: Float) -> NDArray[np.float64]:
    return X.sum(axis=0, dtype=np.float64)


def _sum_squares(X: Float) -> NDArray[np.float64]:
    return np.einsum("ij,ij->j", X, X, dtype=np.float64)
