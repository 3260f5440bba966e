"""The checks of the fields of learned objects, which may come from a damaged file."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.serialisation import (
    check_array,
    check_count,
    check_orthonormal,
    check_type,
    is_number,
)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([[1.0, 2.0]], "float32, not list"),
        (np.zeros((2, 3)), "float32, not float64"),
        (np.zeros((2, 4), np.float32), r"\(at least 1, 3\), not \(2, 4\)"),
        (np.zeros(3, np.float32), r"not \(3,\)"),
        (np.zeros((0, 3), np.float32), r"not \(0, 3\)"),
        (np.full((2, 3), np.nan, np.float32), "NaN or infinite"),
    ],
)
def test_refuses_an_array_of_another_type_or_shape(array, message):
    with pytest.raises(InputError, match=f"The mean must .*{message}"):
        check_array(array, "The mean", (None, 3))


def test_accepts_arrays_that_fit():
    check_array(np.zeros((2, 3), np.float32), "The mean", (None, 3))
    check_array(np.zeros((0, 3), np.float32), "The mean", (None, 3), empty=True)
    check_array(np.full(2, np.nan, np.float32), "The mean", (2,), finite=False)
    check_array(np.zeros(2, np.int32), "The labels", (None,), dtype=np.int32)


@pytest.mark.parametrize(
    "columns",
    [
        np.ones((2, 2)),
        np.full((2, 2), 0.1),
        np.array([[3e38, 3e38], [3e38, -3e38]]),  # the products are infinite, their sum is NaN
        np.ones((1, 100_000)),  # the products would take 40 GB
    ],
)
def test_refuses_columns_that_are_not_orthonormal(columns):
    with pytest.raises(InputError, match="The rotation must have orthonormal columns"):
        check_orthonormal(columns.astype(np.float32), "The rotation")


def test_accepts_orthonormal_columns():
    for columns in (np.eye(3, 2), np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2)[0]):
        check_orthonormal(columns.astype(np.float32), "The rotation")


@pytest.mark.parametrize("value", [0, 1.0, True, "1", None])
def test_refuses_what_is_not_a_count(value):
    with pytest.raises(InputError, match="The number of words must be a whole number"):
        check_count(value, "The number of words")


def test_refuses_another_type():
    with pytest.raises(InputError, match="whiten must be of the type bool, not int"):
        check_type(1, bool, "whiten")


def test_numbers_are_finite_and_not_bools():
    assert [is_number(value) for value in (1, 0.5, True, float("inf"), "1", None)] == [
        *(True, True),
        *(False, False, False, False),
    ]
