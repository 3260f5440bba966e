"""Products of bytes, against NumPy's of whole numbers."""

import numpy as np
import pytest

from myriad._jit import jit
from myriad.byte_tiles import DEPTH, LANES, ROWS, find_limits, is_available, multiply_byte_tile

pytestmark = pytest.mark.skipif(not is_available(), reason="needs products of bytes")


@jit
def multiply(X, W, depth, out):
    for panel in range(len(W)):
        for first in range(0, len(X), ROWS):
            multiply_byte_tile(X, first, W, panel, depth, out[panel, first // ROWS])


def multiply_all(X, W):
    """Return ``X W^T`` by tiles; the number of rows of `W` is a multiple of 16."""
    panels = W.reshape(-1, LANES, W.shape[1] // 4, 4).transpose(0, 2, 1, 3)
    tiles = np.empty((len(panels), -(-len(X) // ROWS), ROWS, LANES), np.int32)
    multiply(X, np.ascontiguousarray(panels), DEPTH, tiles)
    return tiles.transpose(1, 2, 0, 3).reshape(-1, len(W))[: len(X)]


@pytest.mark.parametrize(("n", "n_classes", "depth"), [(1, 16, 1), (6, 32, 2), (13, 48, 5)])
def test_products_are_those_of_whole_numbers(n, n_classes, depth):
    rng = np.random.default_rng(0)
    X = rng.integers(0, find_limits().row + 1, (n, depth * DEPTH)).astype(np.uint8)
    W = rng.integers(-16, 17, (n_classes, depth * DEPTH)).astype(np.int8)
    np.testing.assert_array_equal(multiply_all(X, W), X.astype(int) @ W.astype(int).T)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_sums_of_16_bits_do_not_overflow(sign):
    W = np.zeros((LANES, 2 * DEPTH), np.int8)
    limits = find_limits()
    shared = 4 * np.arange(8)[:, None] + [0, 1]  # these 16 weights share 16 bits
    W[0, shared.ravel()[:3]] = sign * np.minimum([127, 127, limits.weight_sum - 254], 127)
    W[1, DEPTH + shared] = sign * (limits.weight_sum // 16)
    X = np.full((ROWS, 2 * DEPTH), limits.row, np.uint8)
    np.testing.assert_array_equal(multiply_all(X, W), X.astype(int) @ W.astype(int).T)
