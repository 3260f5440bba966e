"""Vectors to bytes and back: codes as scikit-learn estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from myriad.arrays import as_rows
from myriad.codes import (
    BilinearCode,
    Code,
    HadamardCode,
    ProductCode,
    RotatedCode,
    ScalarCode,
    SignCode,
    draw_rotation,
    learn_bilinear,
    learn_bits,
    learn_hadamard,
    learn_rotated,
    learn_scalar,
    load_code,
    save_code,
)
from myriad.errors import InputError
from myriad.estimators.parameters import check_parameters
from myriad.parallel import LearningContext
from myriad.store import (
    ArrayRows,
    Rows,
    Store,
    feature_information,
    rows_at_a_time,
    sample_rows,
    training_rows,
)


class _Quantizer(BaseEstimator, ABC):
    """The base class of the quantisers.

    Attributes
    ----------
    code_ : the learned code.
    n_features_in_ : features of a plain row.
    """

    code_: Code
    random_state: int = 0
    threads: int | None = None
    _kinds: ClassVar[tuple[type[Code], ...]] = ()

    def fit(self, X: ArrayLike | Store, y: ArrayLike | None = None) -> Self:
        """Learn the code from rows of shape (n_samples, n_features), or from a `Store`.

        Of a store the training rows are used, or all if it has no split ``train``; only a sample
        of them is held in memory.
        """
        check_parameters(self)
        rows = _rows_of(X, y)
        self.n_features_in_ = rows.dim
        self.code_ = self._learn(rows)
        return self

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one coded row takes."""
        check_is_fitted(self, "code_")
        return self.code_.bytes_per_row

    @property
    def ratio(self) -> float:
        """How many times smaller a coded row is than its float32 values."""
        check_is_fitted(self, "code_")
        return self.code_.ratio

    def encode(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return codes of shape (n_samples, bytes_per_row)."""
        check_is_fitted(self, "code_")
        return self.code_.encode(X)

    def encode_blocks(self, X: ArrayLike | Store) -> Iterator[NDArray[np.uint8]]:
        """Yield the codes of all rows of an array or a `Store`, a block at a time."""
        check_is_fitted(self, "code_")
        rows = X.rows() if isinstance(X, Store) else ArrayRows(as_rows(X, dim=self.code_.dim))
        for block in rows.blocks(rows_at_a_time(rows.dim)):
            yield self.code_.encode(block.X)

    def decode(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the decoded rows, as trainers see them, of shape (n_samples, n_features)."""
        check_is_fitted(self, "code_")
        return self.code_.decode(codes)

    def save(self, folder: str | Path) -> None:
        """Write the learned code to a folder."""
        check_is_fitted(self, "code_")
        save_code(folder, self.code_)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return a quantiser with the code that was saved in a folder; nothing is executed."""
        loaded, code = cls(), load_code(folder)
        if not isinstance(code, cls._kinds):
            raise InputError(f"{folder} holds a code of another kind: {code.kind}.")
        loaded.code_, loaded.n_features_in_ = code, code.dim
        return loaded

    @abstractmethod
    def _learn(self, rows: Rows) -> Code:
        """Return the code learned from rows."""

    def _sample(self, rows: Rows) -> NDArray[np.float32]:
        """Return the rows to learn from: all of an array, a sample of a store."""
        if isinstance(rows, ArrayRows):
            return rows.X
        return sample_rows(rows, seed=self.random_state)


def _rows_of(X: ArrayLike | Store, y: ArrayLike | None) -> Rows:
    if isinstance(X, Store):
        if X.code is not None:
            raise InputError(f"The rows of {X.path} are already encoded.")
        return training_rows(X)
    rows = as_rows(X)
    if rows.size == 0:
        raise InputError("A code is learned from at least one row and one feature.")
    if y is None:
        return ArrayRows(rows)
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise InputError(f"{len(rows)} rows need as many labels, not an array of {labels.shape}.")
    return ArrayRows(rows, np.unique(labels, return_inverse=True)[1].astype(np.int32))


class ProductQuantizer(_Quantizer):
    """Product quantisation [GP, CC].

    Parameters
    ----------
    d : length of a sub-vector.
    bits : of each index, 1 to 8; the ratio is ``32 d / bits``.
    period : features after which a row repeats its meaning; see `myriad.codes.learn_product`.
    rotation : how rows are rotated before: ``"none"``, ``"random"`` or ``"opq"``, which is learned.
    """

    _kinds = (ProductCode, RotatedCode)

    def __init__(
        self,
        *,
        d: int = 8,
        bits: int = 8,
        period: int | None = None,
        rotation: str = "none",
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.d = d
        self.bits = bits
        self.period = period
        self.rotation = rotation
        self.random_state = random_state
        self.threads = threads

    def _learn(self, rows: Rows) -> Code:
        return learn_rotated(
            self._sample(rows),
            rotation=self.rotation,
            d=self.d,
            bits=self.bits,
            period=self.period,
            context=LearningContext(self.random_state, self.threads),
        )


class SignBits(_Quantizer):
    """One bit for each of the features that say most about the class [CC].

    Decoded rows have +1 and -1, the most informative feature first.

    Parameters
    ----------
    n_bits : features to keep, chosen by their mutual information with the labels given to `fit`;
        None for all.
    bins : None to measure information by the sign, or 2, 4, 8, 16 or 32 equal bins.
    hadamard : whether rows are centred and rotated at random first, so that bits are signs of
        mixtures of all features: slower to encode, and nearer to the rows. `n_bits` then needs no
        labels. None for the value of `turned`.
    turned : the older name of `hadamard`.
    """

    _kinds = (SignCode, HadamardCode)

    def __init__(
        self,
        *,
        n_bits: int | None = None,
        bins: int | None = None,
        turned: bool = False,
        hadamard: bool | None = None,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.bins = bins
        self.turned = turned
        self.hadamard = hadamard
        self.random_state = random_state
        self.threads = threads

    def _learn(self, rows: Rows) -> Code:
        rotated = self.turned if self.hadamard is None else self.hadamard
        sample, seed, information = self._sample(rows), self.random_state, None
        if (rows.labels >= 0).any():
            rotation = draw_rotation(sample, seed=seed) if rotated else None
            information = feature_information(
                rows, bins=self.bins, row_map=rotation, threads=self.threads
            )
        if rotated:
            return learn_hadamard(sample, n_bits=self.n_bits, information=information, seed=seed)
        return learn_bits(sample, n_bits=self.n_bits, information=information)


class BilinearCodes(_Quantizer):
    """The signs of bilinear projections of a row [CC]; decoded rows have +1 and -1.

    Parameters
    ----------
    n_bits : bits of a row, at most; None for one per feature.
    learned : whether projections are learned, or stay random.
    shape : of a row as a matrix, such as ``(128, 2048)``; None for one near a square.
    centred : whether the mean of the rows is subtracted before they are projected.
    rounds : of learning, at most.
    """

    _kinds = (BilinearCode,)

    def __init__(
        self,
        *,
        n_bits: int | None = None,
        learned: bool = True,
        shape: tuple[int, int] | None = None,
        centred: bool = False,
        rounds: int = 10,
        random_state: int = 0,
        threads: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.learned = learned
        self.shape = shape
        self.centred = centred
        self.rounds = rounds
        self.random_state = random_state
        self.threads = threads

    def _learn(self, rows: Rows) -> Code:
        return learn_bilinear(
            self._sample(rows),
            n_bits=self.n_bits,
            learned=self.learned,
            shape=self.shape,
            centred=self.centred,
            rounds=self.rounds,
            context=LearningContext(self.random_state, self.threads),
        )


class ScalarQuantizer(_Quantizer):
    """Eight bits per feature, over the range that each has in the sample [LS]."""

    _kinds = (ScalarCode,)

    def _learn(self, rows: Rows) -> Code:
        return learn_scalar(self._sample(rows))
