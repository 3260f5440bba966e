"""Several labels per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import ascends
from myriad.errors import InputError


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels of rows, several per row.

    Attributes
    ----------
    starts : int64 (n_rows + 1,); the labels of row i lie at ``starts[i]`` to ``starts[i + 1]``.
    classes : int32, class numbers, ascending and distinct within a row.
    """

    starts: NDArray[np.int64]
    classes: NDArray[np.int32]

    def __post_init__(self) -> None:
        starts, classes = self.starts, self.classes
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(classes):
            raise InputError("The label counts do not match the number of labels.")
        if not ascends(starts) or (len(classes) and classes.min() < 0):
            raise InputError("The labels of the rows are damaged.")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def from_lists(cls, lists: Sequence[ArrayLike]) -> Self:
        """Return the sets of a list of class numbers for each row."""
        rows = [np.unique(np.asarray(labels, dtype=np.int64)) for labels in lists]
        sizes = [len(row) for row in rows]
        classes = np.concatenate(rows) if rows else np.empty(0)
        return cls(np.cumsum([0, *sizes], dtype=np.int64), classes.astype(np.int32))

    @classmethod
    def from_matrix(cls, matrix: NDArray[Any]) -> Self:
        """Return the sets of a matrix (n_rows, n_classes), nonzero where a row has a class."""
        rows, classes = np.nonzero(matrix)
        counts = np.bincount(rows, minlength=matrix.shape[0])
        return cls(np.cumsum([0, *counts], dtype=np.int64), classes.astype(np.int32))

    @classmethod
    def from_labels(cls, labels: NDArray[np.int32]) -> Self:
        """Return the sets of one label per row, -1 for none."""
        known = labels >= 0
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(known, dtype=np.int64)])
        return cls(starts, labels[known].astype(np.int32))

    def of(self, row: int) -> NDArray[np.int32]:
        """Return the labels of one row."""
        return self.classes[self.starts[row] : self.starts[row + 1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each row has."""
        return np.diff(self.starts)

    def first(self) -> NDArray[np.int32]:
        """Return the lowest label of each row, -1 where it has none."""
        labels = np.full(len(self), -1, np.int32)
        some = self.sizes > 0
        labels[some] = self.classes[self.starts[:-1][some]]
        return labels

    def select(self, rows: NDArray[np.int64]) -> LabelSets:
        """Return the labels of some rows, in their order."""
        sizes = self.sizes[rows]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        index = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], sizes)
        return LabelSets(starts, self.classes[index])

    def part(self, rows: slice) -> LabelSets:
        """Return the labels of a range of rows."""
        starts = self.starts[rows.start : rows.stop + 1]
        return LabelSets(starts - starts[0], self.classes[starts[0] : starts[-1]])

    def renumbered(self, numbers: NDArray[np.int32]) -> LabelSets:
        """Return the labels with class c renamed ``numbers[c]``; -1 removes a class."""
        rows, classes = self.pairs()
        changed = numbers[classes]
        kept = changed >= 0
        order = np.lexsort((changed[kept], rows[kept]))
        counts = np.bincount(rows[kept], minlength=len(self))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return LabelSets(starts, changed[kept][order].astype(np.int32))

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return every label of every row: the numbers of the rows, and the labels."""
        return np.repeat(np.arange(len(self)), self.sizes), self.classes

    def counts(self, n_classes: int) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        return np.bincount(self.classes, minlength=n_classes).astype(np.int64)

    def to_matrix(self, n_classes: int) -> NDArray[np.bool_]:
        """Return a bool matrix (n_rows, n_classes), true where a row has a class."""
        matrix = np.zeros((len(self), n_classes), np.bool_)
        matrix[self.pairs()] = True
        return matrix
