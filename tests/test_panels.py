"""Products by tiles, against NumPy's."""

import numpy as np
import pytest

from myriad.panels import (
    DEPTH,
    add_columns,
    multiply,
    multiply_blocks,
    multiply_turned,
    pack_block_columns,
    pack_columns,
    pack_rows,
)
from myriad.tiles import LANES

SHAPES = [(1, 1, 1), (5, 16, 6), (7, 33, 13), (18, 48, 64), (6, 17, DEPTH + 5)]
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13}


def draw(dtype, *shapes):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def assert_close(found, expected, depth):
    tolerance = TOLERANCE[found.dtype.type]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * depth**0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_equal_those_of_numpy(dtype, shape):
    n, m, depth = shape
    L, X, out = draw(dtype, (n, depth), (m, depth), (n, m))
    expected = L.astype(np.float64) @ X.astype(np.float64).T
    before = out.copy()
    for panels in (pack_rows(X), pack_columns(np.ascontiguousarray(X.T))):
        out[...] = before
        multiply(L, panels, out, False)
        assert_close(out, before + expected, depth)
        out[...] = np.nan
        multiply(L, panels, out, True)
        assert_close(out, expected, depth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_a_turned_product_are_set_and_no_others(dtype, shape):
    n, m, depth = shape
    L, X = draw(dtype, (n, depth), (m, depth))
    out = np.full((m, n + 3), 7.0, dtype)
    multiply_turned(L, pack_rows(X), out, 2)
    assert_close(out[:, 2 : n + 2], X.astype(np.float64) @ L.astype(np.float64).T, depth)
    assert (out[:, :2] == 7.0).all()
    assert (out[:, n + 2 :] == 7.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("n", [1, 6, 7, 16, 50])
def test_gram_matrices_are_whole_and_symmetric(dtype, n, block):
    (X,) = draw(dtype, (n, DEPTH + 9))
    panels, grams = multiply_blocks(X, block)
    for number, first in enumerate(range(0, n, block)):
        part = X[first : first + block]
        size = -(-block // LANES)
        own = panels[number * size : number * size + -(-len(part) // LANES)]
        np.testing.assert_array_equal(own, pack_rows(part))
        gram = grams[first : first + block, : len(part)]
        assert_close(gram, part.astype(np.float64) @ part.astype(np.float64).T, X.shape[1])
        np.testing.assert_array_equal(gram, gram.T)
        assert (grams[first : first + block, len(part) :] == 0.0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_columns_of_blocks_add_to_a_product(dtype, block):
    X, L, out = draw(dtype, (50, 45), (13, 50), (13, 45))
    panels, expected = pack_block_columns(X, block), out + L @ X
    for number, first in enumerate(range(0, 50, block)):
        part = np.ascontiguousarray(L[:, first : first + block])
        add_columns(part, panels[3 * number : 3 * number + 3], out)
    assert_close(out, expected, 50)
    assert pack_block_columns(X, 0).size == 0


def test_a_part_of_a_product_has_the_same_bits():
    L, X = draw(np.float32, (41, 700), (50, 700))
    whole = np.empty((50, 41), np.float32)
    multiply_turned(L, pack_rows(X), whole, 0)
    for start, stop in ((0, 7), (7, 8), (8, 41)):
        part = np.empty((50, stop - start), np.float32)
        multiply_turned(L[start:stop], pack_rows(X), part, 0)
        np.testing.assert_array_equal(part, whole[:, start:stop])
    fewer = np.empty((21, 41), np.float32)
    multiply_turned(L, pack_rows(X[20:41]), fewer, 0)
    np.testing.assert_array_equal(fewer, whole[20:41])


def test_numbers_beside_the_product_are_left_alone():
    L, X = draw(np.float32, (4, 40), (20, 40))
    around = np.full((8, 20), 3.0, np.float32)
    multiply(L, pack_rows(X), around[2:6], True)
    assert (around[:2] == 3.0).all()
    assert (around[6:] == 3.0).all()
