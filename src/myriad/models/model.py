"""The base class of models: scores, ranking of classes in bounded memory, ranks of true labels."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.measures import LabelSets, Truths, rank_truths
from myriad.models.ranking import select_top
from myriad.serialisation import Serialisable

if TYPE_CHECKING:
    from myriad.models.linear import LinearModel

SCORE_BYTES = 32 << 20
"""Bytes of scores in memory at a time; scores of all rows are never stored together."""


@dataclass(frozen=True, eq=False)
class Model(Serialisable, ABC):
    """The base class of models; a subclass defines `n_classes`, `dim` and `scores`."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of features of a row."""

    @abstractmethod
    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""

    def prepare(self, X: Float) -> Float:
        """Return rows as the model was trained on them: decoded, if a code changes them."""
        return X

    def rank(self, X: Float, k: int) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of each row and their scores, best first.

        Ties go to the lowest class number; `k` above the number of classes means all of them.
        """
        k = self.best_of(k)
        labels = np.empty((len(X), k), np.int32)
        best = np.empty((len(X), k), np.float32)
        for chunk in self.chunks(len(X)):
            select_top(self.scores(X[chunk]), labels[chunk], best[chunk])
        return labels, best

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights (n_features,) and the bias of the score of a class.

        Raises `InputError` if the score is not linear in a row.
        """
        raise InputError(f"The scores of models of the kind {self.kind!r} are not linear in a row.")

    def relabelled(self, labels: Ints) -> Model:
        """Return the model with another label for each class, int32 of shape (n_classes,).

        The new labels are numbers from 0 on; classes with the same one are merged, and a class
        with the label -1 is left out. Raises `InputError` if the model has no weights per class.
        """
        raise InputError(self._refuse_change())

    def with_classes(self, others: LinearModel) -> Model:
        """Return the model with more classes behind its own; their weights do not change.

        Raises `InputError` if the model has no weights per class.
        """
        raise InputError(self._refuse_change())

    def _refuse_change(self) -> str:
        return (
            f"Classes of a model of the kind {self.kind!r} cannot be added, removed or merged, as "
            "its weights are shared between classes. Train it again."
        )

    def uncentred(self, mean: Float) -> Self:
        """Return the model for rows from which `mean` (n_features,) was not subtracted.

        Models of methods that centre rows define it.
        """
        raise TypeError(f"{type(self).__name__} has no uncentred form.")

    def unscaled(self, scale: Float) -> Self:
        """Return the model for rows whose features were not multiplied by `scale` (n_features,).

        Models of methods that scale features define it.
        """
        raise TypeError(f"{type(self).__name__} has no unscaled form.")

    def best_of(self, k: int) -> int:
        """Return `k`, at most the number of classes; raises `InputError` for less than 1."""
        if not isinstance(k, numbers.Integral) or k < 1:
            raise InputError(f"k must be a whole number of at least 1, not {k!r}.")
        return min(int(k), self.n_classes)

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes, float32 of shape (n_samples, len(classes))."""
        some: Float = self.scores(X)[:, classes]
        return some

    def rank_true_labels(
        self, X: Float, truths: Truths
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the rank of the true label of each row, and the best class of each row.

        See `measures.rank_truths`.
        """
        ranks, guesses = np.empty(len(X), np.int32), np.empty(len(X), np.int32)
        for chunk in self.chunks(len(X)):
            scores = self.scores(X[chunk])
            some = truths[chunk] if not isinstance(truths, LabelSets) else truths.part(chunk)
            ranks[chunk] = rank_truths(scores, some)
            guesses[chunk] = scores.argmax(axis=1)
        return ranks, guesses

    def chunks(self, n_samples: int) -> Iterator[slice]:
        """Yield slices of rows, as many at a time as are scored together."""
        rows = max(1, SCORE_BYTES // (4 * self.n_classes))
        for start in range(0, n_samples, rows):
            yield slice(start, min(start + rows, n_samples))
