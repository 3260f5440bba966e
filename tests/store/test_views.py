"""Tests of the views of rows: centred and scaled features and balanced classes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from myriad.store import (
    ArrayRows,
    BalancedRows,
    CentredRows,
    ScaledRows,
    SparseRows,
    is_uneven,
    unit_variance,
)


def test_balanced_rows_draw_every_class_equally_often():
    y = np.repeat([0, 1, 2], [900, 90, 10])
    rows = BalancedRows(ArrayRows(np.zeros((1000, 1), np.float32), y))
    drawn = y[np.concatenate([rows.order(seed=0, epoch=e) for e in range(10)])]
    np.testing.assert_allclose(np.bincount(drawn) / 10_000, 1 / 3, atol=0.02)
    assert (rows.order(seed=0, epoch=0) != rows.order(seed=0, epoch=1)).any()


def test_unit_variance_keeps_the_mean_squared_norm():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6)) * [1, 10, 0.1, 5, 1, 0] + 1
    rows = ArrayRows(X.astype(np.float32))
    scaled = ScaledRows(rows, unit_variance(rows)).read(np.arange(500))
    deviations = scaled.std(axis=0)[:5]
    np.testing.assert_allclose(deviations, deviations[0], rtol=1e-4)
    assert (scaled**2).sum() == pytest.approx((X**2).sum(), rel=1e-4)


def test_unit_variance_of_features_beside_a_huge_one():
    X = np.random.default_rng(0).standard_normal((200, 6), np.float32)
    X[7, 2] = 1e8
    rows = ArrayRows(X, np.zeros(200, np.int32))
    deviations = X.std(axis=0) * unit_variance(rows)
    np.testing.assert_allclose(deviations, deviations[0], rtol=1e-3)


@pytest.mark.parametrize(("factor", "uneven"), [(1.0, False), (5.0, False), (50.0, True)])
def test_uneven_features_differ_in_variance(factor, uneven):
    X = np.random.default_rng(0).standard_normal((200, 6), np.float32)
    X[:, 1] *= factor
    X[:, 2] = 3.0
    assert is_uneven(ArrayRows(X, np.zeros(200, np.int32))) is uneven


@pytest.mark.parametrize("sparse", [False, True])
def test_centred_rows_have_the_mean_subtracted(sparse):
    draws = np.random.default_rng(0)
    X = draws.poisson(0.5, (50, 6)).astype(np.float32)
    rows = SparseRows(csr_matrix(X)) if sparse else ArrayRows(X)
    centred = CentredRows(rows, X.mean(axis=0))
    expected = X - X.mean(axis=0)
    np.testing.assert_allclose(centred.read(range(50)), expected, atol=1e-6)
    np.testing.assert_allclose(centred.select([3, 1]).read([0, 1]), expected[[3, 1]], atol=1e-6)
    block = next(centred.blocks(20, seed=0))
    np.testing.assert_allclose(block.X, expected[block.index], atol=1e-6)
    assert centred.zero_copy_blocks(20, seed=0, epoch=0) is None
