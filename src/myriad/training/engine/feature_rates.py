"""Adagrad by feature: the learning rate of a feature shrinks with its squared gradients [HM, 7].

Feature j has the rate ``h_j = 1 / sqrt(squares_j)`` times eta, fixed within a chunk of rows and the
same for all classes. The squared gradients are those of the average class, so that the rate does
not depend on how many classes there are.
Kernels are unchanged: weights are stored divided by ``sqrt(h)`` and rows are multiplied by
it, so that their products are the same, and a step that adds the scaled row to the stored
weights adds the row times h to the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FeatureRates:
    """The learning rates of the features, for all settings.

    Attributes
    ----------
    squares : float64 array of shape (n_settings, n_features), sums of squared gradient entries,
        as means over the classes.
    """

    squares: NDArray[np.float64]

    @classmethod
    def begin(cls, moments: NDArray[Any], n_settings: int) -> FeatureRates:
        """Return the rates after one step with a coefficient of 1 on an average row."""
        squares = np.where(moments > 0, moments, 1.0).astype(np.float64)
        return cls(np.tile(squares, (n_settings, 1)))

    def roots(self, dtype: Any) -> NDArray[Any]:
        """Return the square roots of the rates, which rows are multiplied by."""
        return (self.squares**-0.25).astype(dtype)

    def update(
        self, number: int, X: NDArray[Any], squared_gradients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Add the squared gradients of a chunk; return the factors that rescale stored weights.

        Parameters
        ----------
        number : of the setting.
        X : float array of shape (m, n_features), the rows without scaling.
        squared_gradients : float64 array of shape (m,), the mean over classes of the squared
            coefficients of each row.
        """
        before = self.squares[number].copy()
        stepped = np.flatnonzero(squared_gradients)
        if len(stepped):
            some = X[stepped].astype(np.float64)
            self.squares[number] += squared_gradients[stepped] @ (some * some)
        change: NDArray[np.float64] = (self.squares[number] / before) ** 0.25
        return change

    def select(self, numbers: Sequence[int]) -> FeatureRates:
        """Return the rates of some settings."""
        return FeatureRates(self.squares[list(numbers)])
