"""The product added in place, against NumPy's."""

import numpy as np
import pytest

from myriad.products import add_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (64, 128, 33), (0, 2, 2), (2, 0, 2)])
def test_adds_the_product(dtype, shape):
    n, k, m = shape
    rng = np.random.default_rng(0)
    A, X = rng.standard_normal((n, k)).astype(dtype), rng.standard_normal((k, m)).astype(dtype)
    V = rng.standard_normal((n, m)).astype(dtype)
    expected = V + A @ X
    add_product(A, X, V)
    np.testing.assert_allclose(V, expected, rtol=1e-5, atol=1e-5)


def test_parts_of_larger_arrays():
    rng = np.random.default_rng(0)
    A, X, V = (rng.standard_normal((20, 20)) for _ in range(3))
    before = V.copy()
    add_product(A[2:7, 3:9], X[4:10, :12], V[5:10, 1:13])
    expected = before.copy()
    expected[5:10, 1:13] += A[2:7, 3:9] @ X[4:10, :12]
    np.testing.assert_allclose(V, expected)


def test_a_transposed_factor():
    rng = np.random.default_rng(0)
    A, X, V = (rng.standard_normal((20, 20)) for _ in range(3))
    expected = V[:6] + A[:9, 2:8].T @ X[:9]
    add_product(A[:9, 2:8].T, X[:9], V[:6])
    np.testing.assert_allclose(V[:6], expected)


def test_what_does_not_fit_is_refused():
    A, X, V = np.zeros((2, 3)), np.zeros((3, 4)), np.zeros((2, 4))
    frozen = np.zeros((2, 4))
    frozen.flags.writeable = False
    for wrong in (
        (A, X, V.T),
        (A, X.astype(np.float32), V),
        (A, X, frozen),
        (np.zeros((4, 6))[::2, ::2], X, V),
    ):
        with pytest.raises(ValueError, match="product"):
            add_product(*wrong)
