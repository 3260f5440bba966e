"""Statistics of rows against NumPy's own."""

import numpy as np
import pytest

from myriad.pipelines.stores.statistics import correlate, spread_values


def make_rows(n=500, dim=12, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim))
    return (np.sign(rows) * rows**2 * np.linspace(1, 5, dim)).astype(np.float32)


def test_correlations_are_pearsons():
    rows = make_rows()
    rows[:, 1] = rows[:, 0] * 3 + 1
    rows[:, 2] = -rows[:, 0]
    rows[:, 3] = 7  # does not vary: takes no part
    found = correlate(rows)
    expected = np.corrcoef(np.delete(rows, 3, axis=1).T.astype(np.float64))
    pairs = expected[np.triu_indices(11, 1)]
    assert found.n_pairs == len(pairs) == 55
    assert found.small == pytest.approx((np.abs(pairs) < 0.2).mean())
    edges, shares = found.density
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(2 / 55)  # 0 and 1 against 2
    assert shares[-1] == pytest.approx(1 / 55)
    assert (edges[0], edges[-1]) == (-1, 1)


def test_too_few_features_have_no_correlation():
    assert correlate(np.ones((9, 4), np.float32)) is None
    assert correlate(make_rows(dim=1)) is None


def test_the_power_is_undone():
    """Values that were squares of normal ones before their square root was taken."""
    before = make_rows(4000, 5)
    after = np.copysign(np.sqrt(np.abs(before)), before)
    found = spread_values(after, np.arange(10, 15), power=0.5)
    plain = spread_values(before, np.arange(10, 15), power=1.0)
    np.testing.assert_allclose(found.before[1], plain.after[1], atol=1e-3)
    assert plain.before is None
    edges, shares = found.after
    middles = (edges[1:] + edges[:-1]) / 2
    assert shares @ middles**2 == pytest.approx(1, abs=0.02)  # in units of the root mean square
    assert [number for number, _ in found.single] == [10, 11, 12, 13, 14]


def test_zeros_are_counted_and_empty_features_left_out():
    rows = np.abs(make_rows(100, 4))
    rows[:, 1] = 0
    rows[:50, 2] = 0
    found = spread_values(rows, np.arange(4), power=0.5)
    assert found.zeros == pytest.approx(150 / 400)
    assert 1 not in [number for number, _ in found.single]
    assert found.after[0][0] == 0  # no value is negative
    assert spread_values(np.zeros((5, 3), np.float32), np.arange(3), power=0.5) is None
