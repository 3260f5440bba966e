"""Vectors to bytes and back: codes as scikit-learn estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from myriad.arrays import as_rows
from myriad.codes import Code, learn_product, learn_scalar


class _Quantizer(BaseEstimator, ABC):
    """What all quantisers share.

    Attributes
    ----------
    code_ : the learned code; its ``bytes_per_row`` and ``ratio`` tell what it saves.
    """

    code_: Code

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the code from a sample of rows of shape (n_samples, n_features)."""
        rows = as_rows(X)
        self.n_features_in_ = rows.shape[1]
        self.code_ = self._learn(rows)
        return self

    def encode(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return codes of shape (n_samples, bytes_per_row)."""
        check_is_fitted(self, "code_")
        return self.code_.encode(X)

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the rows that codes stand for, of shape (n_samples, n_features)."""
        check_is_fitted(self, "code_")
        return self.code_.decode(codes)

    @abstractmethod
    def _learn(self, rows: NDArray[np.float32]) -> Code:
        """Learn what `fit` keeps."""


class ProductQuantizer(_Quantizer):
    """Product quantisation [GP, CC].

    Parameters
    ----------
    d : length of a sub-vector.
    bits : of each index, 1 to 8; the ratio is ``32 d / bits``.
    period : features after which a row repeats its meaning; see `myriad.codes.learn_product`.
    """

    def __init__(
        self,
        *,
        d: int = 8,
        bits: int = 8,
        period: int | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.d = d
        self.bits = bits
        self.period = period
        self.random_state = random_state
        self.threads = threads

    def _learn(self, rows: NDArray[np.float32]) -> Code:
        return learn_product(
            rows,
            d=self.d,
            bits=self.bits,
            period=self.period,
            seed=self.random_state,
            threads=self.threads,
        )


class ScalarQuantizer(_Quantizer):
    """Eight bits a feature, over the range that each has in the sample [LS]."""

    def _learn(self, rows: NDArray[np.float32]) -> Code:
        return learn_scalar(rows)
