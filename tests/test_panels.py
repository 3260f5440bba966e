"""Products by tiles, against NumPy's."""

import numpy as np
import pytest

from myriad.panels import (
    DEPTH,
    add_columns,
    add_rows,
    multiply,
    multiply_blocks,
    multiply_transposed,
    pack_columns,
    pack_in_place,
    pack_rows,
    unpack_in_place,
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
    for panels in (pack_rows(X), pack_columns(np.ascontiguousarray(X.T))):
        out[...] = np.nan
        multiply(L, panels, out, 0)
        assert_close(out, expected, depth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_a_turned_product_are_set_and_no_others(dtype, shape):
    n, m, depth = shape
    L, X = draw(dtype, (n, depth), (m, depth))
    out = np.full((m, n + 3), 7.0, dtype)
    multiply_transposed(L, pack_rows(X), out, 2)
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
@pytest.mark.parametrize("shape", [(1, 1, 1), (13, 50, 45), (18, 48, 64)])
def test_columns_add_to_a_product(dtype, shape):
    n, depth, m = shape
    X, L, out = draw(dtype, (depth, m), (n, depth), (n, m))
    expected = out + L @ X
    add_columns(L, pack_columns(X), out)
    assert_close(out, expected, depth)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 33, 64])
@pytest.mark.parametrize("m", [1, 8, 21])
def test_rows_are_packed_where_they_lie(dtype, n, m):
    (X,) = draw(dtype, (n, m))
    rows = X.copy()
    panels, rest = pack_in_place(rows)
    np.testing.assert_array_equal(np.concatenate([panels, rest]), pack_rows(X))
    assert np.shares_memory(panels, rows) or len(panels) == 0
    panels *= 2.0
    rest *= 2.0
    unpack_in_place(rows, rest)
    np.testing.assert_array_equal(rows, 2.0 * X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (16, 6, 16), (50, 45, 37), (96, 100, 64)])
def test_packed_rows_add_to_packed_weights(dtype, shape):
    n, m, n_classes = shape
    X, A, W = draw(dtype, (n, m), (n, n_classes), (n_classes, m))
    rows, out = pack_rows(X), pack_rows(W)
    steps = np.zeros((len(out), LANES * len(rows), LANES), dtype)
    steps[:, :n] = pack_columns(A)
    add_rows(rows, steps, out)
    found = W.copy()
    rest = out[n_classes // LANES :]
    pack_in_place(found)[0][...] = out[: n_classes // LANES]
    unpack_in_place(found, rest)
    assert_close(found, W + A.astype(np.float64).T @ X, n)


def test_columns_of_a_wider_array_are_set_and_no_others():
    L, X = draw(np.float32, (13, 40), (21, 40))
    around = np.full((13, 30), 3.0, np.float32)
    multiply(L, pack_rows(X), around[:, :25], 4)
    assert_close(around[:, 4:25], L @ X.T, 40)
    assert (around[:, :4] == 3.0).all()
    assert (around[:, 25:] == 3.0).all()


def test_a_part_of_a_product_has_the_same_bits():
    L, X = draw(np.float32, (41, 700), (50, 700))
    whole = np.empty((50, 41), np.float32)
    multiply_transposed(L, pack_rows(X), whole, 0)
    for start, stop in ((0, 7), (7, 8), (8, 41)):
        part = np.empty((50, stop - start), np.float32)
        multiply_transposed(L[start:stop], pack_rows(X), part, 0)
        np.testing.assert_array_equal(part, whole[:, start:stop])
    fewer = np.empty((21, 41), np.float32)
    multiply_transposed(L, pack_rows(X[20:41]), fewer, 0)
    np.testing.assert_array_equal(fewer, whole[20:41])


def test_numbers_beside_the_product_are_left_alone():
    L, X = draw(np.float32, (4, 40), (20, 40))
    around = np.full((8, 20), 3.0, np.float32)
    multiply(L, pack_rows(X), around[2:6], 0)
    assert (around[:2] == 3.0).all()
    assert (around[6:] == 3.0).all()
