"""Every parameter of every public class against values that it cannot have."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator

import myriad
from myriad.errors import InputError

CLASSES = [
    found
    for found in (getattr(myriad, name) for name in myriad.__all__)
    if inspect.isclass(found) and issubclass(found, BaseEstimator)
]
UNCHECKED = {"callback", "callbacks", "progress", "client", "kernel", "class_weight", "max_seconds"}
"""Parameters that take functions, objects or mappings, or are checked when they are used."""
NEVER = [float("nan"), [], {}, object(), 1j, b"bytes"]
"""Values that no parameter accepts."""
X = np.eye(6, 4, dtype=np.float32)
y = np.arange(6) % 2


def parameters_of(kind):
    return [name for name in inspect.signature(kind).parameters if name not in UNCHECKED]


def fit(estimator):
    """Fit on the least that the checks let through; images are not opened before they are."""
    return estimator.fit(X, y)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_wrong_type_names_the_parameter(kind):
    for name in parameters_of(kind):
        for value in NEVER:
            word = "number of threads" if name == "threads" else name
            with pytest.raises(InputError, match=word):
                fit(kind(**{name: value}))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("value", [2**70, -(2**70), float("inf"), "banana", -1])
def test_a_wrong_value_of_a_whole_number_names_the_parameter(kind, value):
    for name, parameter in inspect.signature(kind).parameters.items():
        if name == "random_state" or (
            parameter.annotation in ("int", "int | None") and value != -1
        ):
            word = "number of threads" if name == "threads" else name
            if name == "threads" and value == 2**70:
                continue  # a large number of threads is one of few
            with pytest.raises(InputError, match=word):
                fit(kind(**{name: value}))


def test_numbers_of_numpy_are_numbers():
    myriad.LinearSGD(
        eta=np.float32(0.1), beta=np.int64(1), epochs=np.int32(1), random_state=np.uint8(3)
    ).fit(X, y)


@pytest.mark.parametrize("kind", [myriad.Wsabie, myriad.NearestMeans])
def test_no_classes(kind):
    with pytest.raises(InputError, match="classes"):
        kind().partial_fit(X, y, classes=[])


SCALED = [kind for kind in CLASSES if hasattr(kind, "predict")]


@pytest.mark.parametrize("kind", SCALED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("size", [1e20, 1e-20])
def test_rows_beyond_the_range_of_float32_products_are_refused(kind, size):
    rows = (X * size).astype(np.float32)
    with pytest.raises(InputError, match="Scale the rows"):
        kind().fit(rows, y)
    with pytest.raises(InputError, match="Scale the rows"):
        kind().fit(csr_matrix(rows), y)


def test_rows_of_zeros_have_no_scale():
    myriad.NearestMeans().fit(np.zeros((6, 4), np.float32), y)
