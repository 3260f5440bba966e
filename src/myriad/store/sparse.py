"""Rows of a sparse matrix, made dense a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.store.rows import ArrayRows


class SparseRows(ArrayRows):
    """Rows of a SciPy CSR matrix; otherwise as `ArrayRows`.

    Parameters
    ----------
    X : CSR matrix or array of shape (n_rows, dim); not copied.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike | LabelSets | None = None,
        *,
        weights: ArrayLike | None = None,
        dtype: Any = np.float32,
    ) -> None:
        if getattr(X, "format", None) != "csr":
            raise InputError("Sparse rows must be a CSR matrix.")
        # The dense array without elements has the shape that checks and shuffling look at.
        shape = np.broadcast_to(np.zeros((), np.float32), X.shape)
        super().__init__(shape, y, weights=weights, dtype=dtype)
        self._matrix = X

    def _fill(self, index: NDArray[np.int64], out: Float) -> None:
        numbers = index if self.chosen is None else self.chosen[index]
        some = self._matrix[numbers]
        if not np.isfinite(some.data).all():
            raise InputError("The rows have a NaN or infinite value.")
        out[:] = some.toarray()
