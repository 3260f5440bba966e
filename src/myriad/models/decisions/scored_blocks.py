"""Scores of a block of rows, and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.calibration.labels import sigmoid
from myriad.models.ranking import rank_scores


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """The scores of a block of rows, and the terms of their probabilities.

    Attributes
    ----------
    scores : float32 array of shape (n_rows, n_classes), as the model gives them.
    best : float32 array of shape (n_rows,), the best score of each row.
    logits : float32 array of the same shape as `scores`, these with the weights of classes; -inf
        for classes that are left out. Without weights these are the scores.
    scales : float32 array of shape (n_rows,): ``exp(scale * logit)`` is proportional to the
        probability.
    log_sums : float64 array of shape (n_rows,), the logarithms of the sums of those.
    bonuses : float64 array of shape (n_rows,), see `Calibration`; they are part of the sums.
    ranked : the best classes of each row and their logits, best first, as far as they are known.
    """

    scores: Float
    best: Float
    logits: Float
    scales: Float
    log_sums: NDArray[np.float64]
    bonuses: NDArray[np.float64]
    ranked: tuple[Ints, Float]

    def probabilities_of(self, logits: NDArray[Any], rows: Any = slice(None)) -> NDArray[Any]:
        """Return the probabilities of the best logits of rows, float64 (n_rows, m), best first."""
        found = self._exponentiate(logits, rows)
        found[:, 0] *= np.exp(self.bonuses[rows])
        return np.minimum(found, 1.0, out=found)  # the sum was rounded

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities of all classes, which sum to 1."""
        found = self._exponentiate(self.logits)
        found[np.arange(len(found)), self.logits.argmax(axis=1)] *= np.exp(self.bonuses)
        found /= found.sum(axis=1, keepdims=True)
        return found

    def _exponentiate(self, logits: NDArray[Any], rows: Any = slice(None)) -> NDArray[Any]:
        exponents = self.scales[rows, None].astype(np.float64) * logits
        exponents -= self.log_sums[rows, None]
        return np.exp(exponents, out=exponents)

    def rank(self, k: int, rows: Any = slice(None)) -> tuple[Ints, Float]:
        """Return the `k` best classes of rows and their logits, best first."""
        labels, logits = self.ranked
        if k <= labels.shape[1]:
            return labels[rows, :k], logits[rows, :k]
        return rank_scores(np.ascontiguousarray(self.logits[rows]), k)


class LabelBlock(ScoredBlock):
    """The scores of multi-label rows: each label has a separate probability."""

    def probabilities_of(self, logits: NDArray[Any], rows: Any = slice(None)) -> NDArray[Any]:
        """Return the probabilities of logits of rows, float64 (n_rows, m)."""
        return sigmoid(logits)

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities of all labels."""
        return sigmoid(self.logits)
