"""Checks of arrays given by users: finite, contiguous, of the expected dtype and shape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError

Float = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]


def as_rows(X: Any, *, dim: int | None = None, name: str = "X") -> Float:
    """Return `X` as a finite, C-contiguous float32 matrix of rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    dim : the number of features that it must have, if known.
    name : the name of the array in error messages.

    Raises `InputError` if it is not a matrix of finite numbers.
    """
    refuse_masked(X, name)
    try:
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a numeric matrix with one row per sample.") from None
    if rows.ndim != 2:
        raise InputError(f"{name} must have two dimensions (rows, features), not {rows.ndim}.")
    if dim is not None and rows.shape[1] != dim:
        raise InputError(f"{name} has {rows.shape[1]} features where {dim} are expected.")
    bad = first_bad_row(rows)
    if bad is not None:
        raise InputError(f"{name} has a NaN or infinite value in row {bad}.")
    return rows


def first_bad_row(rows: NDArray[Any]) -> int | None:
    """Return the index of the first row with a NaN or infinite value, or None."""
    with np.errstate(invalid="ignore", over="ignore"):
        if np.isfinite(rows.sum()):  # a fast test, which may also fail by overflow
            return None
        sums = rows.sum(axis=1, dtype=np.float64)
    if np.isfinite(sums).all():
        return None
    return int(np.flatnonzero(~np.isfinite(sums))[0])


SCALES = (1e-15, 1e15)
"""Range of the largest absolute value of rows: products of rows must be within float32."""
SCALED_ROWS = 1024
"""Number of rows whose scale is checked."""


def refuse_masked(values: Any, name: str) -> None:
    """Raise `InputError` for a masked array with masked values: what is behind a mask is noise."""
    n = np.ma.count_masked(values) if isinstance(values, np.ma.MaskedArray) else 0
    if n:
        raise InputError(f"{n:,} values of {name} are masked: fill them, or leave their rows out.")


def refuse_unusable(X: Any) -> None:
    """Raise `InputError` for rows with masked values, dates or durations, or in a lazy frame.

    Parameters
    ----------
    X : an array, a data frame or one of its columns.
    """
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise InputError("X is a lazy frame, whose values are not known: call its collect() first.")
    refuse_masked(X, "X")
    kinds = getattr(X, "dtypes", None)
    if not isinstance(kinds, Iterable):
        kinds = [getattr(X, "dtype", None)]
    if any(getattr(kind, "kind", "") in tuple("mM") for kind in kinds):
        raise InputError("Features must be numeric, but there are dates: convert or drop them.")


def refuse_extreme_scale(X: Any) -> None:
    """Raise `InputError` if products of rows, dense or sparse, would overflow or vanish in float32.

    The first `SCALED_ROWS` rows are checked; rows of zeros have no scale.
    """
    first = X[:SCALED_ROWS]
    values = first.data if hasattr(first, "tocsr") else first
    size = float(np.abs(values).max(initial=0.0))
    least, most = SCALES
    if size and not least <= size <= most:
        raise InputError(
            f"The largest of the values is {size:.0e}, so products of rows are beyond the range of "
            "float32. Scale the rows to norms of about 1."
        )


def ascends(values: NDArray[Any], *, strictly: bool = False) -> bool:
    """Return whether integers ascend. Differences of those of a damaged file could overflow."""
    first, second = values[:-1], values[1:]
    return bool(((first < second) if strictly else (first <= second)).all())
