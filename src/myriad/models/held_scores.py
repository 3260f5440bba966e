"""Scores of rows that a model was not trained on: what probabilities are calibrated from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.ranking import select_top

MOST_CLASSES = 100
"""Best classes of a row whose scores are kept."""
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class HeldScores:
    """The scores of held-out rows: of the true class and of the best ones, and the rest in sum.

    Attributes
    ----------
    labels : int32 array of shape (n_rows,)
    true : float32 array of shape (n_rows,), the score of the true class.
    classes, scores : int32 and float32 arrays of shape (n_rows, k), the best classes of each row.
    rest : float32 array of shape (n_rows,), the logarithm of the sum of the exponentials of all
        other scores; minus infinity where there are none.
    """

    labels: Ints
    true: Float
    classes: Ints
    scores: Float
    rest: Float

    def __post_init__(self) -> None:
        n = len(self.labels)
        shapes = [(n,), (n,), self.classes.shape, self.classes.shape, (n,)]
        arrays = [self.labels, self.true, self.classes, self.scores, self.rest]
        if [array.shape for array in arrays] != shapes or self.classes.shape[:1] != (n,):
            raise InputError("The held-out scores of the model do not fit together.")

    @classmethod
    def of(cls, scores: Float, labels: Ints) -> Self:
        """Return what is kept of scores (n_rows, n_classes)."""
        n_rows, n_classes = scores.shape
        k = min(MOST_CLASSES, n_classes)
        classes, best = np.empty((n_rows, k), np.int32), np.empty((n_rows, k), np.float32)
        select_top(scores, classes, best)
        others = scores.astype(np.float64)
        np.put_along_axis(others, classes.astype(np.int64), -np.inf, axis=1)
        with np.errstate(divide="ignore"):
            rest = logsumexp(others, axis=1).astype(np.float32)
        true = scores[np.arange(n_rows), labels]
        return cls(labels.astype(np.int32), true, classes, best, rest)

    @classmethod
    def concatenate(cls, parts: Sequence[HeldScores]) -> Self:
        """Return the scores of several sets of rows as one."""
        names = ("labels", "true", "classes", "scores", "rest")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, as a file keeps them."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return what `to_arrays` took apart."""
        try:
            return cls(**arrays)
        except TypeError:
            raise InputError("The held-out scores of the model are damaged.") from None
