"""Scores of held-out rows, from which probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.ranking import group_rest, select_top

MOST_CLASSES = 100
"""Best classes of a row whose scores are kept."""
GROUPS = 32
"""Groups in which the scores of the other classes are kept."""
MOST_ROWS = 20_000
_INTEGERS = ("labels", "classes", "numbers")


@dataclass(frozen=True, eq=False)
class HeldScores:
    """The scores of held-out rows: of the true class, of the best ones, and the others in groups.

    The groups are narrow, so that the sum of the exponentials of all scores is known at every
    temperature, although a row may have very many classes.

    Attributes
    ----------
    labels : int32 array of shape (n_rows,)
    true : float32 array of shape (n_rows,), the score of the true class.
    classes, scores : int32 and float32 arrays of shape (n_rows, k), the best classes of each row.
    rest_scores, rest_counts : float32 arrays of shape (n_rows, n_groups), the mean score and the
        number of the other classes in each group; no groups where all classes are kept.
    numbers : int64 array of shape (n_rows,), which of the training rows these are; None if they
        are others.
    """

    labels: Ints
    true: Float
    classes: Ints
    scores: Float
    rest_scores: Float
    rest_counts: Float
    numbers: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n, rest = len(self.labels), self.rest_scores.shape
        arrays = [self.labels, self.true, self.classes, self.scores]
        shapes = [(n,), (n,), self.scores.shape, self.classes.shape]
        fits = [array.shape for array in arrays] == shapes and self.rest_counts.shape == rest
        fits &= self.numbers is None or self.numbers.shape == (n,)
        tables = (self.classes.shape, rest)
        if not fits or any(len(shape) != 2 or shape[0] != n for shape in tables):
            raise InputError("The held-out scores of the model do not fit together.")

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, scores: Float, labels: Ints) -> Self:
        """Return the held-out scores of an array of shape (n_rows, n_classes)."""
        n_rows, n_classes = scores.shape
        k = min(MOST_CLASSES, n_classes)
        classes, best = np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
        select_top(scores, classes, best)
        n_groups = GROUPS if k < n_classes else 0
        means, counts = np.zeros((2, n_rows, n_groups), np.float32)
        if n_groups:
            group_rest(scores, best[:, -1], k, means, counts)
            # No exponential of an empty group may overflow, although it counts for nothing.
            np.copyto(means, best[:, -1:], where=counts == 0)
        true = scores[np.arange(n_rows), labels]
        return cls(labels.astype(np.int32), true, classes, best, means, counts)

    @classmethod
    def concatenate(cls, parts: Sequence[HeldScores]) -> Self:
        """Return the scores of several sets of rows as one."""
        names = parts[0].to_arrays()
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )

    def select(self, rows: Any) -> HeldScores:
        """Return the scores of some of the rows."""
        return HeldScores(**{name: array[rows] for name, array in self.to_arrays().items()})

    def scaled(self, factor: float) -> HeldScores:
        """Return the scores, multiplied by a positive number."""
        return replace(
            self,
            true=self.true * np.float32(factor),
            scores=self.scores * np.float32(factor),
            rest_scores=self.rest_scores * np.float32(factor),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, as a file keeps them."""
        return {name: array for name, array in vars(self).items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_classes: int) -> Self:
        """Return the scores of a model of `n_classes` from the arrays of `to_arrays`.

        Raises `InputError` if an array is missing, of another type, or names other classes.
        """
        try:
            held = cls(**arrays)
        except TypeError:
            raise InputError("The held-out scores of the model are damaged.") from None
        if any(array.dtype.kind != "fi"[name in _INTEGERS] for name, array in arrays.items()):
            raise InputError("The held-out scores of the model are of another type.")
        for named in (held.labels, held.classes):
            if named.size and not 0 <= named.min() <= named.max() < n_classes:
                raise InputError("The held-out scores of the model are of other classes.")
        if (held.scores[:, 1:] > held.scores[:, :-1]).any():
            raise InputError("The held-out scores of the model are not in order.")
        if not (np.isfinite(held.rest_counts).all() and (held.rest_counts >= 0).all()):
            raise InputError("The held-out scores of the model have a count that is not a number.")
        return held
