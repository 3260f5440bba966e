"""Labels as users give them: one per row, or several as lists or as a matrix of 0 and 1.

Groups of rows are numbered here as well.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets

from myriad.arrays import refuse_masked
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.store import as_csr

Encoded = tuple[NDArray[Any], NDArray[np.int32]]
EncodedSets = tuple[NDArray[Any], LabelSets]

NOT_LABELS = "A matrix of labels must hold 0 and 1 only, with one column per class."


def has_several(y: Any) -> bool:
    """Return whether labels are given as lists of labels, or as a matrix of 0 and 1."""
    if issparse(y):
        return True
    if isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object):
        return len(y) > 0 and isinstance(y[0], list | tuple | set | frozenset | np.ndarray)
    return isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1


def encode_several(y: Any) -> EncodedSets:
    """Return the classes and the labels of each row as class indices.

    A matrix has one column per class, and the classes are the indices of its columns.
    """
    if issparse(y):
        return encode_sparse(y)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype != object:
        if not np.isin(y, (0, 1)).all():
            raise InputError(NOT_LABELS)
        return np.arange(y.shape[1]), LabelSets.from_matrix(y)
    lists = [list(row) for row in y]
    classes = np.unique(np.array([label for row in lists for label in row]))
    number = {label: c for c, label in enumerate(classes.tolist())}
    try:
        numbered = [[number[as_plain(label)] for label in row] for row in lists]
    except (KeyError, TypeError) as error:  # NaN, or numbers and text mixed
        raise InputError(f"Labels must be all numbers or all text, and not NaN: {error}.") from None
    return classes, LabelSets.from_lists(numbered)


def encode_sparse(y: Any) -> EncodedSets:
    """Return the classes and the labels of each row of a sparse matrix, which stays sparse."""
    matrix = as_csr(y, name="y").copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not (matrix.data == 1).all():
        raise InputError(NOT_LABELS)
    sets = LabelSets(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))
    return np.arange(matrix.shape[1]), sets


def refuse_missing(y: Any) -> None:
    """Raise `InputError` for labels of pandas or polars, or objects, of which some are missing."""
    refuse_masked(y, "y")
    find, missing = getattr(y, "isna", None) or getattr(y, "is_null", None), 0
    if callable(find) and getattr(y, "ndim", 1) == 1:
        missing = int(find().sum())
    elif isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype == object):
        missing = sum(_is_missing(label) for label in y)
    if missing:
        raise InputError(f"{missing:,} of {len(y):,} labels are missing: leave these rows out.")


def encode_one(y: NDArray[Any]) -> Encoded:
    """Return the classes and the class index of each row."""
    y = unbox(y)
    try:
        with warnings.catch_warnings():
            # Thousands of classes with one or two rows each are what this package is made for.
            warnings.filterwarnings("ignore", message="The number of unique classes is greater")
            check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError as error:  # objects that cannot be compared
        raise InputError(f"Labels must be all numbers or all text: {error}.") from None
    return classes, labels.astype(np.int32)


def unbox(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels that are Python objects as numbers, or as they are if all are text.

    Raises `InputError` if they are both.
    """
    if y.dtype != object:
        return y
    kinds = {type(as_plain(label)) for label in y.tolist()}
    if kinds <= {bool, int, float}:
        numbers = np.array(y.tolist())
        if kinds == {int} and numbers.dtype.kind not in "iu":
            raise InputError("Labels must fit into 64 bits: give larger numbers as text.")
        return numbers
    if not all(issubclass(kind, str) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"Labels must be all numbers or all text, but their types are {names}.")
    return y


def number_groups(groups: Any) -> NDArray[np.int64]:
    """Return the number of the group of each row; -1 where it is missing (None or NaN)."""
    values = np.asarray(groups)
    missing = np.array([_is_missing(group) for group in values.ravel().tolist()], bool)
    numbers = np.full(values.shape, -1, np.int64)
    try:
        known = np.unique(values.ravel()[~missing], return_inverse=True)[1]
    except TypeError as error:
        raise InputError(f"Groups must be all numbers or all text: {error}.") from None
    numbers[~missing.reshape(values.shape)] = known.ravel()
    return numbers


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or NA of pandas."""
    equal = value == value  # false for NaN, and NA for NA
    return value is None or not (isinstance(equal, bool | np.bool_) and bool(equal))


def extend_classes(
    known: NDArray[Any], seen: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the classes with new ones after those known, and the index of each one seen."""
    index = {label: c for c, label in enumerate(known.tolist())}
    for label in seen.tolist():
        index.setdefault(label, len(index))
    classes = np.array(list(index), dtype=np.result_type(known, seen))
    return classes, np.array([index[label] for label in seen.tolist()], np.int32)


def as_plain(label: Any) -> Any:
    """Return a label as a plain Python object, also if it is a NumPy scalar."""
    return label.item() if isinstance(label, np.generic) else label
