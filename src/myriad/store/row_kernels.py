"""Rows gathered from wherever they lie in an array."""

from __future__ import annotations

from myriad._jit import jit_reassociated


@jit_reassociated
def copy_rows(X, index, out):
    """Copy rows of `X`; return the sum of their squares, which is not finite if a number is not.

    Parameters
    ----------
    X : float array of shape (n, m).
    index : int64 array of shape (k,), rows of `X`.
    out : float array of shape (k, m); changed.
    """
    total = out.dtype.type(0.0)
    for i in range(len(index)):
        row, place = X[index[i]], out[i]
        for j in range(len(place)):
            number = out.dtype.type(row[j])
            place[j] = number
            total += number * number
    return total
