"""A matrix product that is added in place and releases the GIL.

SciPy's own wrappers of BLAS hold the GIL while they multiply; the routine itself, called by its
address through ctypes, does not.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def _find_routine(name: str, number: Any) -> Any:
    """Return a routine of BLAS, for numbers of a C type, as a Python function."""
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(capsule, get_name(capsule))
    integer, scalar = ctypes.POINTER(ctypes.c_int), ctypes.POINTER(number)
    letter, array = ctypes.c_char_p, ctypes.c_void_p
    declared = ctypes.CFUNCTYPE(
        None, letter, letter, integer, integer, integer,
        scalar, array, integer, array, integer, scalar, array, integer,
    )  # fmt: skip
    return declared(address)


_ROUTINES = {
    np.dtype(np.float32): ("sgemm", ctypes.c_float),
    np.dtype(np.float64): ("dgemm", ctypes.c_double),
}


def add_product(A: NDArray[Any], X: NDArray[Any], V: NDArray[Any]) -> None:
    """Add ``A X`` to `V` in place.

    Parameters
    ----------
    A, X, V : float arrays of shapes (n, k), (k, m) and (n, m), of one type and with contiguous
        rows; A may have contiguous columns instead. `V` is changed in place.
    """
    (n, k), m = A.shape, X.shape[1]
    if X.shape[0] != k or V.shape != (n, m) or not A.dtype == X.dtype == V.dtype:
        raise ValueError(f"Shapes {A.shape}, {X.shape} and {V.shape} do not fit a product.")
    if 0 in (n, k, m):
        return
    transposed = not _has_contiguous_rows(A)
    if transposed:
        A = A.T
    if not V.flags.writeable or not all(map(_has_contiguous_rows, (A, X, V))):
        raise ValueError("The rows of a product must be contiguous, and its target writeable.")
    name, number = _ROUTINES[V.dtype]
    routine = _find_routine(name, number)
    one = number(1.0)
    # BLAS stores matrices by columns: it sees the transposes, hence V^T += X^T A^T.
    routine(
        b"N", b"T" if transposed else b"N", ctypes.c_int(m), ctypes.c_int(n), ctypes.c_int(k),
        one, X.ctypes.data, _row_length(X), A.ctypes.data, _row_length(A),
        one, V.ctypes.data, _row_length(V),
    )  # fmt: skip


def _has_contiguous_rows(array: NDArray[Any]) -> bool:
    """Return whether the numbers of each row are contiguous."""
    return array.shape[1] <= 1 or array.strides[1] == array.itemsize


def _row_length(array: NDArray[Any]) -> ctypes.c_int:
    """Return how many numbers there are from the start of a row to that of the next."""
    steps = array.strides[0] // array.itemsize if array.shape[0] > 1 else array.shape[1]
    return ctypes.c_int(steps)
