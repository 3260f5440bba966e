"""Cross-validation: which rows are held out together, and how candidates are compared on them.

Candidates are judged by what they predict for rows that they were not trained on, pooled over the
folds. Where rows are plenty, the first folds hold out enough of them, and the others are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.randomness import generator

N_FOLDS = 3
ENOUGH_ROWS = 5000
"""Held-out rows that are enough to compare candidates: the standard error is below 0.7 points."""
ENOUGH_OF_SUBSAMPLE = 1500
"""The same where the search must not take much longer than the training that follows it."""
UNBALANCED = 3.0
"""If the largest class has more than this many times the rows of the smallest, candidates are
compared by the mean of the accuracies of the classes, which counts all classes alike."""
CLASS_ACCURACY = "mean class accuracy"


def draw_folds(
    labels: NDArray[np.int32],
    n_folds: int,
    *,
    seed: int,
    groups: NDArray[np.int32] | None = None,
) -> NDArray[np.int64]:
    """Return the fold of each row, from 0 to ``n_folds - 1``; -1 for rows without a label.

    The rows of a class are spread over the folds as evenly as possible.

    Parameters
    ----------
    groups : int32 array of shape (n_rows,); rows of the same group (photographs of one object,
        frames of one video) are never in different folds. Rows of group -1 belong to none.
    """
    known = np.flatnonzero(labels >= 0)
    folds = np.full(len(labels), -1, np.int64)
    draw = generator(seed, "folds")
    if groups is None:
        order = known[draw.permutation(len(known))]
        order = order[np.argsort(labels[order], kind="stable")]
        # Consecutive rows go to consecutive folds, also from one class to the next, so that folds
        # are equally large even where classes have fewer rows than there are folds.
        folds[order] = np.arange(len(order)) % n_folds
        return folds
    alone = -2 - np.arange(len(labels))  # a row of no group is a group by itself
    own = np.where(groups < 0, alone, groups)[known]
    names, members = np.unique(own, return_inverse=True)
    if len(names) < n_folds:
        raise InputError(
            f"{n_folds} folds need as many groups of rows, but there are {len(names)}."
        )
    wanted = np.maximum(np.bincount(labels[known]) / n_folds, 1e-9)
    held = np.zeros((n_folds, len(wanted)))
    sizes = np.bincount(members)
    rows_of = np.split(known[np.argsort(members, kind="stable")], np.cumsum(sizes)[:-1])
    order = draw.permutation(len(names))
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        # The fold that would be least overfull with this group.
        classes, counts = np.unique(labels[rows_of[group]], return_counts=True)
        before = held[:, classes]
        excess = np.square((before + counts) / wanted[classes]).sum(axis=1)
        excess -= np.square(before / wanted[classes]).sum(axis=1)
        fold = int(np.argmin(excess))
        held[fold, classes] += counts
        folds[rows_of[group]] = fold
    return folds


def count_groups(groups: NDArray[np.int32] | None, known: NDArray[np.bool_]) -> int:
    """Return how many groups the rows with a label have; a row of no group is one by itself."""
    if groups is None:
        return int(known.sum())
    return int((groups[known] < 0).sum()) + len(np.unique(groups[known & (groups >= 0)]))


def choose_folds(folds: NDArray[np.int64], n_folds: int, enough: int = ENOUGH_ROWS) -> list[int]:
    """Return the folds that are held out in turn: as many as hold out enough rows."""
    sizes = np.bincount(folds[folds >= 0], minlength=n_folds)
    used = int(np.searchsorted(np.cumsum(sizes), min(enough, sizes.sum()))) + 1
    return list(range(min(used, n_folds)))


@dataclass(frozen=True)
class Judge:
    """Compares candidates by the held-out rows that they classify correctly.

    Attributes
    ----------
    weights : float array of shape (n_rows,), the weight of each held-out row; their sum is 1.
    by_class : whether all classes count alike, rather than all rows.
    """

    weights: NDArray[np.float64]
    by_class: bool

    @classmethod
    def of(
        cls,
        labels: NDArray[np.int32],
        held: NDArray[np.int64],
        n_classes: int,
        measure: str = "auto",
    ) -> Judge:
        """Return the judge of some held-out rows among all rows with these labels.

        Parameters
        ----------
        measure : see `Automatic`.
        """
        counts = np.bincount(labels[labels >= 0], minlength=n_classes)
        counts = counts[counts > 0]
        uneven = bool(len(counts)) and counts.max() > UNBALANCED * counts.min()
        by_class = uneven if measure == "auto" else measure == "classes"
        weights = np.ones(len(held))
        if by_class:
            sizes = np.bincount(labels[held], minlength=n_classes)
            weights = 1.0 / sizes[labels[held]]
        return cls(weights / weights.sum(), by_class)

    def first(self, n_rows: int) -> Judge:
        """Return the judge of the first held-out rows only."""
        weights = self.weights[:n_rows]
        return Judge(weights / weights.sum(), self.by_class)

    @property
    def measure(self) -> str:
        """The name of the measure that candidates are compared by."""
        return CLASS_ACCURACY if self.by_class else "accuracy"

    def score(self, correct: NDArray[np.bool_]) -> float:
        """Return the accuracy in percent of which rows are classified correctly."""
        return 100.0 * float(self.weights @ correct)

    def error(self, correct: NDArray[np.bool_]) -> float:
        """Return the standard error of the accuracy, in percentage points."""
        return self._deviation(correct.astype(np.float64))

    def difference(
        self, first: NDArray[np.bool_], second: NDArray[np.bool_]
    ) -> tuple[float, float]:
        """Return the difference of two accuracies, and its standard error.

        Where one of them is of the first rows alone, they are compared on these.
        """
        n_rows = min(len(first), len(second))
        judge = self if n_rows == len(self.weights) else self.first(n_rows)
        first, second = first[:n_rows], second[:n_rows]
        return judge.score(first) - judge.score(second), judge._deviation(
            first.astype(np.float64) - second
        )

    def _deviation(self, values: NDArray[np.float64]) -> float:
        mean = self.weights @ values
        return 100.0 * math.sqrt(float(np.square(self.weights * (values - mean)).sum()))
