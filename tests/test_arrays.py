"""Checks of arrays."""

import numpy as np
import pytest

from myriad.arrays import ascends


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_ascends(dtype):
    limits = np.iinfo(dtype)
    assert ascends(np.array([], dtype))
    assert ascends(np.array([limits.min, 3, 3, limits.max], dtype))
    assert not ascends(np.array([3, 3], dtype), strictly=True)
    assert not ascends(np.array([3, 2], dtype))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_differences_that_overflow_do_not_hide_a_descent(dtype):
    limits = np.iinfo(dtype)
    around = np.array([0, limits.max, limits.min, -1, 3], dtype)
    assert (np.diff(around) > 0).all()
    assert not ascends(around)
