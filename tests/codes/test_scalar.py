"""Scalar codes by their definition."""

import numpy as np
import pytest

from myriad.codes import learn_scalar
from myriad.errors import InputError


def test_error_is_at_most_half_a_step():
    rows = np.random.default_rng(0).normal(size=(200, 9), scale=np.arange(1, 10)).astype(np.float32)
    code = learn_scalar(rows)
    error = np.abs(code.decode(code.encode(rows)) - rows)
    assert (error <= 0.5 * code.step + 1e-5).all()
    assert error.max() > 0.4 * code.step.max()
    assert code.ratio == 4


def test_ends_of_the_range():
    code = learn_scalar(np.array([[-1.0, 5.0], [1.0, 5.0]]))
    codes = code.encode(np.array([[-1.0, 5.0], [1.0, 5.0], [-7.0, 4.0], [9.0, 6.0]]))
    np.testing.assert_array_equal(codes, [[0, 0], [255, 0], [0, 0], [255, 0]])
    np.testing.assert_allclose(code.decode(codes[:2]), [[-1, 5], [1, 5]], atol=1e-6)


def test_refuses_a_range_beyond_float32():
    top = np.finfo(np.float32).max
    with pytest.raises(InputError, match="too wide"):
        learn_scalar(np.array([[-top], [top]]))


def test_refuses_an_empty_sample():
    with pytest.raises(InputError, match="at least one row"):
        learn_scalar(np.empty((0, 3)))
