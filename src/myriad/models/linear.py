"""The linear model: one weight vector and one bias per class."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.model import Model
from myriad.serialisation import check_array

if TYPE_CHECKING:
    from myriad.models.screening import RoundedWeights

SCREENED_ROWS, SCREENED_CLASSES, SCREENED_FEATURES, SCREENED_BEST = 1024, 8192, 256, 32
"""Minimum numbers of rows, classes and features, and maximum number of best classes, for which
ranking screens classes: see `benchmarks/screening.py`."""
SCREENED_WORK = 1e11
"""Minimum number of multiply-adds of such a product: some seconds, about as long as compiling the
kernels takes."""


@dataclass(frozen=True, eq=False)
class LinearModel(Model, kind="linear"):
    """Scores ``s = W x + b``.

    Attributes
    ----------
    weights : float32 array W of shape (n_classes, n_features)
    biases : float32 array b of shape (n_classes,)
    """

    weights: Float
    biases: Float

    def __post_init__(self) -> None:
        check_array(self.weights, "The weights of a linear model", (None, None), finite=False)
        shape = self.weights.shape[:1]
        check_array(self.biases, "The biases of a linear model", shape, finite=False)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.weights.shape[0])

    @property
    def dim(self) -> int:
        """The number of features of a row."""
        return int(self.weights.shape[1])

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes only."""
        scores: Float = X @ self.weights[classes].T
        scores += self.biases[classes]
        return scores

    def scores(self, X: Float) -> Float:
        """Return the scores of rows, float32 of shape (n_samples, n_classes)."""
        return self.scores_of(X, slice(None))

    def rank(self, X: Float, k: int) -> tuple[NDArray[np.int32], Float]:
        """Return the `k` best classes of each row and their scores, best first; see `Model.rank`.

        Of many rows and classes, most are excluded by a bound: see `models.screening`. Labels and
        scores are those of all scores, but for the rounding of float32 sums.
        """
        k = self.best_of(k)
        if not self._is_worth_screening(len(X), k):
            return super().rank(X, k)
        from myriad.models.screening import rank_screened

        rounded = self._rounded
        labels, best = np.empty((len(X), k), np.int32), np.empty((len(X), k), np.float32)
        done = 0
        if rounded is not None:
            rows = np.ascontiguousarray(X, np.float32)
            done = rank_screened(rows, self.weights, self.biases, rounded, labels, best)
        if done < len(X):
            labels[done:], best[done:] = super().rank(X[done:], k)
        return labels, best

    def _is_worth_screening(self, n_samples: int, k: int) -> bool:
        """Return whether screening with byte products is supported and likely to be faster."""
        work = float(n_samples) * self.n_classes * self.dim
        many = n_samples >= SCREENED_ROWS and self.n_classes >= SCREENED_CLASSES
        if not (many and self.dim >= SCREENED_FEATURES and work >= SCREENED_WORK):
            return False
        if k > SCREENED_BEST:
            return False
        from myriad.byte_tiles import is_available

        return is_available()

    @cached_property
    def _rounded(self) -> RoundedWeights | None:
        """The weights as bytes, a quarter of their memory; computed at first use."""
        from myriad.models.screening import round_weights

        return round_weights(self.weights, self.biases)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the fields, without the cached weights as bytes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def class_weights(self, label: int) -> tuple[Float, float]:
        """Return the weights and the bias of a class."""
        return self.weights[label], float(self.biases[label])

    def select(self, classes: NDArray[np.integer]) -> LinearModel:
        """Return the model of some classes, in this order."""
        return LinearModel(self.weights[classes], self.biases[classes])

    def relabelled(self, labels: Ints) -> Model:
        """Return the model with another label for each class; see `Model.relabelled`."""
        from myriad.models.merged import relabel

        return relabel(self, labels)

    def with_classes(self, others: LinearModel) -> LinearModel:
        """Return the model with more classes; see `Model.with_classes`."""
        return LinearModel(
            np.concatenate([self.weights, others.weights]),
            np.concatenate([self.biases, others.biases]),
        )

    def uncentred(self, mean: Float) -> LinearModel:
        """Return the model for rows from which `mean` (n_features,) was not subtracted."""
        return LinearModel(self.weights, self.biases - self._shifts(mean))

    def unscaled(self, scale: Float) -> LinearModel:
        """Return the model for rows whose features were not multiplied by `scale` (n_features,)."""
        return LinearModel(self.weights * scale, self.biases)

    def centred(self, mean: Float) -> LinearModel:
        """Return the model for rows from which `mean` (n_features,) is subtracted."""
        return LinearModel(self.weights, self.biases + self._shifts(mean))

    def _shifts(self, mean: Float) -> Float:
        """Return the scores of the mean without biases, summed in float64."""
        shifts = [row @ mean.astype(np.float64) for row in self.weights]
        return np.array(shifts, np.float32)
