"""Sparse matrices: their validation, and rows that are converted to dense blocks.

SciPy's kernels read and write wherever the index arrays of a matrix say, and SciPy checks these
arrays only in part. So every sparse matrix of a user is checked by `as_csr` before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.arrays import Float, ascends
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.store.rows import ArrayRows, refuse_bad

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_INDEX_TYPES = (np.int32, np.int64)
_MAX_OFFSET = np.iinfo(np.int32).max


def as_csr(matrix: Any, *, name: str = "X") -> csr_matrix:
    """Return a sparse matrix of any SciPy format as a CSR matrix with valid index arrays.

    Entries may be unsorted and repeated; repeated ones count as their sum. A CSR matrix is not
    copied, but half-precision numbers, which SciPy cannot compute with, become float32.

    Parameters
    ----------
    matrix : SciPy sparse matrix or array of shape (n_rows, n_columns)
    name : name of the matrix in error messages.

    Raises
    ------
    InputError : if an index is out of range or the arrays of the matrix do not fit together.
    """
    from scipy.sparse import csr_matrix, issparse

    if not issparse(matrix) or len(matrix.shape) != 2:
        raise InputError(f"{name} must be a sparse matrix of two dimensions.")
    try:
        fault = _find_fault(matrix)
        if fault is None and matrix.format != "csr":
            matrix = matrix.tocsr()
            fault = _find_fault(matrix)  # the indices of some formats can only be checked now
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        fault = f"it cannot be converted to CSR ({error})"
    if fault is not None:
        raise InputError(f"{name} is not a valid sparse matrix: {fault}.")
    n_entries = int(matrix.indptr[-1])  # the arrays may be longer
    data = matrix.data[:n_entries]
    if data.dtype == np.float16:
        data = data.astype(np.float32)
    # A new matrix, because flags of the given one (sorted, no duplicates) may be out of date.
    return csr_matrix((data, matrix.indices[:n_entries], matrix.indptr), shape=matrix.shape)


def _find_fault(matrix: Any) -> str | None:
    """Return why a matrix cannot safely be converted or, if CSR, used; None if it can."""
    if matrix.format in ("csr", "csc", "bsr"):
        return _find_compressed_fault(matrix)
    if matrix.format == "coo":
        return _find_coordinate_fault(matrix)
    if matrix.format == "dia":
        return _find_diagonal_fault(matrix)
    if matrix.format == "lil":
        return _find_list_fault(matrix)
    return None  # a dictionary of keys is converted by NumPy and checked afterwards


def _find_compressed_fault(matrix: Any) -> str | None:
    """Check a matrix in CSR, CSC or BSR format."""
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    n_rows, n_columns = matrix.shape if matrix.format != "csc" else matrix.shape[::-1]
    block: tuple[int, ...] = ()
    if matrix.format == "bsr":
        block = np.shape(data)[1:]
        if len(block) != 2 or min(block) < 1 or n_rows % block[0] or n_columns % block[1]:
            return "its blocks do not divide its shape"
        n_rows, n_columns = n_rows // block[0], n_columns // block[1]
    if not _is_index(indptr) or not _is_index(indices):
        return "indptr and indices must be int32 or int64 arrays of one dimension"
    if not _is_data(data, (len(indices), *block)):
        return "data must be an array of as many numbers as there are indices"
    if len(indptr) != n_rows + 1:
        return f"indptr has {len(indptr)} values where {n_rows + 1} are expected"
    if indptr[0] != 0 or not ascends(indptr):
        return "indptr must start at 0 and never decrease"
    if indptr[-1] > len(indices):
        return f"indptr ends at {indptr[-1]}, but there are only {len(indices)} indices"
    return _find_range_fault(indices[: indptr[-1]], n_columns, "indices")


def _find_coordinate_fault(matrix: Any) -> str | None:
    """Check a matrix in COO format."""
    for axis, index in enumerate((matrix.row, matrix.col)):
        if not _is_index(index) or not _is_data(matrix.data, index.shape):
            return "row, col and data must be arrays of one length, row and col of integers"
        fault = _find_range_fault(index, matrix.shape[axis], ("row", "col")[axis])
        if fault is not None:
            return fault
    return None


def _find_diagonal_fault(matrix: Any) -> str | None:
    """Check a matrix in DIA format."""
    offsets, data = matrix.offsets, matrix.data
    if not _is_index(offsets) or not _is_data(data, (len(offsets), *np.shape(data)[1:2])):
        return "data must have a row for each of its offsets, which are integers"
    if len(np.unique(offsets)) < len(offsets) or np.abs(offsets).max(initial=0) > _MAX_OFFSET:
        return "its offsets must differ from each other and fit into 32 bits"
    return None


def _find_list_fault(matrix: Any) -> str | None:
    """Check a matrix in LIL format; its column indices are checked when it is CSR."""
    if not len(matrix.rows) == len(matrix.data) == matrix.shape[0]:
        return f"it does not have {matrix.shape[0]} lists"
    for columns, values in zip(matrix.rows, matrix.data, strict=True):
        if not isinstance(columns, list) or not isinstance(values, list):
            return "its rows must be lists"
        if len(columns) != len(values):
            return "a row has different numbers of values and column indices"
    return None


def _is_index(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype in _INDEX_TYPES


def _is_data(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an array is numeric and has the given shape."""
    return isinstance(array, np.ndarray) and array.shape == shape and array.dtype.kind in "biufc"


def _find_range_fault(index: NDArray[Any], size: int, name: str) -> str | None:
    """Check that indices are between 0 and ``size - 1``."""
    if index.size and not 0 <= index.min() <= index.max() < size:
        worst = index.min() if index.min() < 0 else index.max()
        return f"{name} must be between 0 and {size - 1}, but one is {worst}"
    return None


class SparseRows(ArrayRows):
    """Rows of a SciPy CSR matrix; otherwise like `ArrayRows`.

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
        groups: ArrayLike | None = None,
        dtype: Any = np.float32,
    ) -> None:
        if getattr(X, "format", None) != "csr":
            raise InputError("Sparse rows must be a CSR matrix.")
        matrix = as_csr(X)
        # A broadcast scalar takes no memory and tells the base class the shape.
        shape = np.broadcast_to(np.zeros((), np.float32), matrix.shape)
        super().__init__(shape, y, weights=weights, groups=groups, dtype=dtype)
        self._matrix = matrix

    def _fill(self, index: NDArray[np.int64], out: Float) -> None:
        numbers = index if self.chosen is None else self.chosen[index]
        with np.errstate(over="ignore"):  # values too large for float32 become infinite
            out[:] = self._matrix[numbers].toarray()
        refuse_bad(out, numbers)
