"""Scalar codes: 8 bits per feature, evenly spaced over its range in the sample [CC, LS]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from myriad._jit import jit
from myriad.arrays import Bytes, Float, as_rows
from myriad.codes.code import Code
from myriad.errors import InputError
from myriad.serialisation import check_array

_LEVELS = 255  # steps between the lowest and the highest value


@dataclass(frozen=True, eq=False)
class ScalarCode(Code, kind="scalar"):
    """A learned scalar code: code q of feature j decodes to ``low[j] + q * step[j]``.

    Parameters
    ----------
    low : float32 (dim,), the lowest value of each feature.
    step : float32 (dim,), at least 0; 0 for a constant feature.
    """

    low: Float
    step: Float

    def __post_init__(self) -> None:
        check_array(self.low, "The lowest values of a scalar code", (None,))
        check_array(self.step, "The steps of a scalar code", self.low.shape)
        if self.step.min() < 0:
            raise InputError("The steps of a scalar code must be at least 0.")
        span = np.float64(_LEVELS) * self.step
        if (np.maximum(span, self.low + span) > np.finfo(np.float32).max).any():
            raise InputError(
                "The range of a feature is too wide for a scalar code: scale the rows."
            )

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Number of features of a row."""
        return len(self.low)

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return self.dim

    def _encode(self, rows: Float, codes: Bytes) -> None:
        _quantise(rows, self.low, self.step, codes)

    def _decode(self, codes: Bytes, out: Float) -> None:
        _restore(codes, self.low, self.step, out)


def learn_scalar(sample: Float) -> ScalarCode:
    """Learn the range of each feature from a sample (n_samples, dim) of at least one row.

    Values outside the range are clipped when they are encoded.
    """
    rows = as_rows(sample, name="The sample for a scalar code")
    if rows.size == 0:
        raise InputError("A scalar code needs a sample of at least one row and one feature.")
    low, high = rows.min(axis=0), rows.max(axis=0)
    step = (high.astype(np.float64) - low) / _LEVELS
    return ScalarCode(low, step.astype(np.float32))


@jit
def _quantise(rows, low, step, codes):  # type: ignore[no-untyped-def]
    """Fill `codes` with the nearest of the 256 levels of each feature, clipped to the range."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            level = 0.0
            if step[j] > 0:
                level = (np.float64(rows[i, j]) - low[j]) / step[j]
            codes[i, j] = np.uint8(min(max(level, 0.0), 255.0) + 0.5)


@jit
def _restore(codes, low, step, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_samples, dim) with ``low + step * code``."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            out[i, j] = low[j] + step[j] * np.float32(codes[i, j])
