"""Moments of classes: against their definition, on any number of threads, without some rows."""

import numpy as np
import pytest

from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training.discriminant import moments as module
from myriad.training.discriminant.moments import ClassMoments

N, DIM, CLASSES = 700, 230, 6  # several shards of features


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, N).astype(np.int32)
    y[:4] = -1
    return rng.standard_normal((N, DIM), dtype=np.float32), y


def collect(X, y, threads=1, weights=None):
    names = [str(c) for c in range(CLASSES)]
    with open_threads(threads) as pool:
        return ClassMoments.collect(ArrayRows(X, y, names, weights=weights), CLASSES, pool=pool)


def test_sums_and_products(data, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 150)
    X, y = data
    found, known = collect(X, y), X[y >= 0].astype(np.float64)
    np.testing.assert_array_equal(found.counts, np.bincount(y[y >= 0], minlength=CLASSES))
    np.testing.assert_allclose(found.sums[2], known[y[y >= 0] == 2].sum(axis=0), atol=1e-3)
    np.testing.assert_allclose(found.products, known.T @ known, atol=1e-2)


def test_weights_count_rows_and_average_to_one(data):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 3, N).astype(np.float64)
    weights[y < 0] = 0
    found = collect(X, y, weights=5 * weights)
    scale = (y >= 0).sum() / weights.sum()
    doubled = np.repeat(np.arange(N), weights.astype(int))
    expected = collect(X[doubled], y[doubled])
    np.testing.assert_allclose(found.counts, scale * expected.counts)
    np.testing.assert_allclose(found.products, scale * expected.products, atol=1e-2)


def test_the_bits_do_not_depend_on_threads(data):
    first, second = collect(*data), collect(*data, threads=3)
    assert first.products.tobytes() == second.products.tobytes()
    assert first.sums.tobytes() == second.sums.tobytes()


def test_moments_without_some_rows(data):
    X, y = data
    found = collect(X, y) - collect(X[:200], y[:200])
    expected = collect(X[200:], y[200:])
    np.testing.assert_allclose(found.counts, expected.counts)
    np.testing.assert_allclose(found.products, expected.products, atol=1e-2)
    again = found + collect(X[:200], y[:200])
    np.testing.assert_allclose(again.sums, collect(X, y).sums, atol=1e-3)
