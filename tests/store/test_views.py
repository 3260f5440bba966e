"""Tests of the views of rows: scaled features and balanced classes."""

import numpy as np
import pytest

from myriad.store import ArrayRows, BalancedRows, ScaledRows, unit_variance


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
