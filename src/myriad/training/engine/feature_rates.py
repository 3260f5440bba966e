"""Adagrad by feature: steps of a feature shrink by the root of its squared gradient entries.

Within a chunk of rows the rates ``h`` are fixed. Stored weights and rows are both kept divided and
multiplied by ``sqrt(h)``, so that their products stay what they are, a step adds the row times
``h``, and kernels need not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FeatureRates:
    """The rates of all settings.

    Attributes
    ----------
    squares : float64 array of shape (n_settings, n_features), squared gradient entries so far.
    """

    squares: NDArray[np.float64]

    @classmethod
    def begin(cls, moments: NDArray[Any], n_settings: int) -> FeatureRates:
        """Begin as if one step with a coefficient of 1 had been made on an average row."""
        squares = np.where(moments > 0, moments, 1.0).astype(np.float64)
        return cls(np.tile(squares, (n_settings, 1)))

    def roots(self, dtype: Any) -> NDArray[Any]:
        """Return the square roots of the rates."""
        return (self.squares**-0.25).astype(dtype)

    def learn(
        self, number: int, X: NDArray[Any], energy: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Add the squared gradients of a chunk; return what its stored weights are to be times.

        Parameters
        ----------
        X : rows as they are, (m, n_features).
        energy : (m,), the sum over classes of the squared coefficients of each row.
        """
        before = self.squares[number].copy()
        stepped = np.flatnonzero(energy)
        if len(stepped):
            some = X[stepped].astype(np.float64)
            self.squares[number] += energy[stepped] @ (some * some)
        change: NDArray[np.float64] = (self.squares[number] / before) ** 0.25
        return change

    def select(self, numbers: Sequence[int]) -> FeatureRates:
        """Return the rates of some settings."""
        return FeatureRates(self.squares[list(numbers)])
