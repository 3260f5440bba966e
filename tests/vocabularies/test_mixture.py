"""The frozen mixture: its posteriors and sums against their twins, and what it refuses."""

import numba
import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.vocabularies import GaussianMixture
from myriad.vocabularies import mixture as module
from myriad.vocabularies.mixture import CUT, logits_to_posteriors, short_exp
from tests.reference import posteriors as reference


@numba.njit
def _apply(x, y):
    for i in range(x.size):
        y[i] = short_exp(x[i])


def test_short_exp_is_exact_to_four_millionths():
    x = np.linspace(np.log(CUT), 0, 100_001).astype(np.float32)
    y = np.empty_like(x)
    _apply(x, y)
    assert np.abs(y / np.exp(x.astype(np.float64)) - 1).max() < 4e-6
    assert y[-1] == 1


@pytest.mark.parametrize("n_components", [1, 3, 16, 100])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_agrees_with_the_twin(n_components, spread):
    rng = np.random.default_rng(0)
    logits = (rng.standard_normal((50, n_components)) * spread - 70).astype(np.float32)
    expected = softmax(logits.astype(np.float64), axis=1)
    log_likelihood = logsumexp(logits.astype(np.float64), axis=1).sum()
    assert logits_to_posteriors(logits, logits.max(axis=1)) == pytest.approx(
        log_likelihood, rel=1e-6
    )
    np.testing.assert_allclose(logits, expected, atol=5e-6)
    np.testing.assert_allclose(logits.sum(axis=1), 1, rtol=1e-5)


def test_small_posteriors_are_cut():
    logits = np.log(np.array([[0.5 * CUT, 1.0, 2 * CUT, 0.5]], np.float32)) - 300
    logits_to_posteriors(logits, logits.max(axis=1))
    assert logits[0, 0] == 0
    np.testing.assert_allclose(logits[0, 1:], np.array([1, 2 * CUT, 0.5]) / 1.5, rtol=1e-3)


def test_huge_and_equal_logits_are_no_trouble():
    logits = np.array([[-1e30] * 5, [1e30, -1e30, 0, 0, 0]], np.float32)
    logits_to_posteriors(logits, logits.max(axis=1))
    np.testing.assert_allclose(logits, [[0.2] * 5, [1, 0, 0, 0, 0]], rtol=1e-6)


def make_mixture(k=9, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    return GaussianMixture(
        rng.dirichlet(np.full(k, 5.0)).astype(np.float32),
        rng.standard_normal((k, dim)).astype(np.float32),
        rng.uniform(0.2, 1.5, (k, dim)).astype(np.float32),
    )


@pytest.mark.parametrize("block", [64, 1024])
def test_sums_agree_with_the_twin(block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    mixture = make_mixture()
    values = np.random.default_rng(1).standard_normal((500, 6)).astype(np.float32)
    sums = mixture.sum_moments(values)
    expected = reference.moments(values, mixture.weights, mixture.means, mixture.variances)
    np.testing.assert_allclose(sums.counts[0], expected[0], atol=5e-4)
    np.testing.assert_allclose(sums.first[0], expected[1], atol=5e-4)
    np.testing.assert_allclose(sums.second[0], expected[2], atol=2e-3)
    assert sums.log_likelihood == pytest.approx(expected[3], rel=1e-6)


def test_cells_are_summed_apart(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 64)
    mixture = make_mixture()
    rng = np.random.default_rng(1)
    values = rng.standard_normal((500, 6)).astype(np.float32)
    cells = rng.integers(0, 3, 500).astype(np.int32)
    sums = mixture.sum_moments(values, cells, 4)
    for c in range(3):
        alone = mixture.sum_moments(values[cells == c])
        np.testing.assert_array_equal(sums.counts[c], alone.counts[0])
        np.testing.assert_array_equal(sums.first[c], alone.first[0])
        np.testing.assert_array_equal(sums.second[c], alone.second[0])
    assert not sums.counts[3].any()
    assert not sums.second[3].any()


def test_values_far_from_the_origin_do_not_lose_precision():
    mixture = make_mixture()
    far = GaussianMixture(mixture.weights, mixture.means + 100, mixture.variances)
    values = np.random.default_rng(1).standard_normal((400, 6)).astype(np.float32) + 100
    sums = far.sum_moments(values)
    expected = reference.moments(values, far.weights, far.means, far.variances)
    np.testing.assert_allclose(sums.second[0], expected[2], atol=2e-3)


def test_a_gaussian_far_from_the_others_keeps_its_digits():
    """The mean of one is 40 deviations from the centre: x² is 1,600 times the variance there."""
    means = np.zeros((4, 6), np.float32)
    means[3] = 40
    mixture = GaussianMixture(
        np.full(4, 0.25, np.float32), means + make_mixture(4).means, np.ones((4, 6), np.float32)
    )
    values = np.random.default_rng(1).standard_normal((400, 6)).astype(np.float32)
    values[::2] += 40
    sums = mixture.sum_moments(values)
    expected = reference.moments(values, mixture.weights, mixture.means, mixture.variances)
    np.testing.assert_allclose(sums.first[0], expected[1], atol=0.02)
    np.testing.assert_allclose(sums.second[0], expected[2], atol=0.1, rtol=1e-3)


def test_no_rows_no_sums():
    sums = make_mixture().sum_moments(np.empty((0, 6), np.float32))
    assert not sums.counts.any()
    assert not sums.first.any()
    assert sums.log_likelihood == 0


def test_survives_a_round_trip():
    mixture = make_mixture()
    again = restore(*flatten(mixture), GaussianMixture)
    for name in ("weights", "means", "variances"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mixture, name))


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.full(9, 1.0, np.float32)},
        {"weights": np.full(8, 1 / 8, np.float32)},
        {"weights": np.eye(9, dtype=np.float32)[0]},
        {"means": np.zeros((9, 5), np.float32)},
        {"means": np.zeros((9, 6))},
        {"means": np.full((9, 6), np.inf, np.float32)},
        {"variances": np.zeros((9, 6), np.float32)},
        {"variances": None},
    ],
)
def test_refuses_damaged_fields(change):
    mixture = make_mixture()
    fields = {name: getattr(mixture, name) for name in ("weights", "means", "variances")}
    with pytest.raises(InputError):
        GaussianMixture(**(fields | change))
