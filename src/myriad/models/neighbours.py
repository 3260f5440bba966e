"""The nearest-neighbours model: the nearest training rows vote for their classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.model import Model
from myriad.serialisation import check_array, check_count


@dataclass(frozen=True, eq=False)
class NeighboursModel(Model, kind="neighbours"):
    """Scores by the votes of the `k` nearest training rows; ties go to the nearer rows.

    Attributes
    ----------
    rows : float32 array of shape (n_rows, n_features)
    labels : int32 array of shape (n_rows,)
    count : number of classes.
    k : number of rows that vote.
    """

    rows: Float
    labels: Ints
    count: int
    k: int = 1

    def __post_init__(self) -> None:
        rows, labels = self.rows, self.labels
        check_array(rows, "The rows of a nearest-neighbours model", (None, None), finite=False)
        name = "The labels of a nearest-neighbours model"
        check_array(labels, name, rows.shape[:1], dtype=np.int32)
        check_count(self.count, "The number of classes")
        if not 0 <= labels.min() <= labels.max() < self.count:
            raise InputError(f"Labels must be between 0 and {self.count - 1}.")
        if not isinstance(self.k, int) or not 1 <= self.k <= len(rows):
            raise InputError(f"k must be between 1 and {len(rows)} rows, not {self.k!r}.")

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.count

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return int(self.rows.shape[1])

    @cached_property
    def _index(self) -> Any:
        import faiss

        index = faiss.IndexFlatL2(self.dim)
        index.add(self.rows)
        return index

    def scores(self, X: Float) -> Float:
        """Return the votes for each class, float32 of shape (n_samples, n_classes)."""
        nearest = self._index.search(np.ascontiguousarray(X), self.k)[1]
        votes = np.zeros((len(X), self.count), np.float32)
        samples = np.arange(len(X))
        for j in range(self.k):
            # The extra terms of all k rows sum to 1/2: they decide ties and nothing else.
            weight = 1.0 + (self.k - j) / (self.k * (self.k + 1.0))
            found = nearest[:, j] >= 0  # faiss returns -1 where distances overflow
            votes[samples[found], self.labels[nearest[found, j]]] += np.float32(weight)
        return votes
