"""Every parameter of every public class against values that it cannot have."""

import inspect
import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator

import myriad
from myriad.errors import InputError
from myriad.options import options_of

CLASSES = [
    found
    for found in (getattr(myriad, name) for name in myriad.__all__)
    if inspect.isclass(found) and issubclass(found, BaseEstimator)
]
UNCHECKED = {"kernel"}
"""A parameter that takes texts and functions, and is checked when it is used."""
NEVER = [float("nan"), [], {}, object(), 1j, b"bytes", -(10**5000)]
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
            if name == "class_weight" and value == {}:
                continue
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


def list_wrong_values(option):
    """Return values outside of what an option declares."""
    wrong = ["banana", "", -math.inf] if option.choices or option.words else ["banana", -math.inf]
    wrong += [2**70, -(2**70)] if option.type is int else []
    for limit, step in ((option.minimum, -1), (option.maximum, 1), (option.above, 0)):
        if limit is not None and math.isfinite(limit):
            wrong.append(limit + step * max(1, abs(limit) // 10**6))
    if option.below is not None:
        wrong.append(option.below)
    if (
        option.type is float
        and option.maximum != math.inf
        and math.inf not in option.words.values()
    ):
        wrong.append(math.inf)
    return [value for value in wrong if value not in option.words]


METHODICAL = [kind for kind in CLASSES if hasattr(kind, "_method_class")]


@pytest.mark.parametrize("kind", METHODICAL, ids=lambda kind: kind.__name__)
def test_values_outside_of_the_declared_range_name_the_parameter(kind):
    parameters = inspect.signature(kind).parameters
    for option in options_of(kind._method_class).values():
        name = kind._renamed.get(option.name, option.name)
        if name not in parameters or name in UNCHECKED:
            continue
        for value in list_wrong_values(option):
            if option.type is str and isinstance(value, str) and not option.choices:
                continue
            with pytest.raises(InputError, match=name):
                fit(kind(**{name: value}))


def test_numbers_of_numpy_are_numbers():
    myriad.LinearSGD(
        eta=np.float32(0.1), beta=np.int64(1), epochs=np.int32(1), random_state=np.uint8(3)
    ).fit(X, y)


@pytest.mark.parametrize("kind", [myriad.Wsabie, myriad.NearestMeans])
def test_no_classes(kind):
    with pytest.raises(InputError, match="classes"):
        kind().partial_fit(X, y, classes=[])


def test_no_classes_to_begin_with():
    """`LinearSGD` takes new classes at any time, so that an empty list is none at all."""
    found = myriad.LinearSGD().partial_fit(X, np.asarray(y), classes=[]).classes_
    assert found.dtype == np.asarray(y).dtype
    np.testing.assert_array_equal(found, np.unique(y))


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


TOLERANT = [kind for kind in CLASSES if "tol" in inspect.signature(kind).parameters]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", TOLERANT, ids=lambda kind: kind.__name__)
def test_a_tolerance_that_cannot_be_reached_ends(kind):
    estimator = kind(tol=5e-324, center=False)
    np.testing.assert_array_equal(estimator.fit(X, y).classes_, [0, 1])
