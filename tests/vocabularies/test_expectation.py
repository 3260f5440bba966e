"""Learning mixtures: against scikit-learn from the same start, and in awkward cases."""

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as TheirMixture

from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.vocabularies import (
    GaussianMixture,
    learn_mixture,
    refine_mixture,
    start_mixture,
)
from myriad.vocabularies import blocks as module
from tests.reference import posteriors as reference


def make_values(n=4000, dim=8, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((15, dim)) * 2
    scales = rng.uniform(0.3, 1.5, (15, dim))
    labels = rng.integers(0, 15, n)
    noise = rng.standard_normal((n, dim)) * scales[labels]
    return (centres[labels] + noise).astype(np.float32)


def log_likelihood(values, mixture):
    parts = mixture.weights.astype(np.float64), mixture.means, mixture.variances
    return reference.moments(values, *parts)[3] / len(values)


def test_agrees_with_scikit_learn_from_the_same_start(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 700)
    values = make_values()
    start = start_mixture(values, 20)
    ours = refine_mixture(values, start, rounds=12)
    weights = start.weights.astype(np.float64)
    theirs = TheirMixture(
        20,
        covariance_type="diag",
        max_iter=12,
        tol=0,
        weights_init=weights / weights.sum(),
        means_init=start.means,
        precisions_init=1 / start.variances,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged, which is meant
        theirs.fit(values.astype(np.float64))
    expected = theirs.score(values.astype(np.float64))
    assert log_likelihood(values, ours) == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(ours.means, theirs.means_, atol=0.05)
    np.testing.assert_allclose(ours.variances, theirs.covariances_, rtol=0.05, atol=0.01)


def test_every_round_raises_the_likelihood():
    values = make_values(2000)
    mixture = start_mixture(values, 10, LearningContext(1))
    before = log_likelihood(values, mixture)
    for _ in range(4):
        mixture = refine_mixture(values, mixture, rounds=1)
        after = log_likelihood(values, mixture)
        assert after > before - 1e-6
        before = after


def test_is_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 300)
    values = make_values()
    one = learn_mixture(values, 12, LearningContext(7, threads=1), rounds=4)
    three = learn_mixture(values, 12, LearningContext(7, threads=3), rounds=4)
    for name in ("weights", "means", "variances"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    other = learn_mixture(values, 12, LearningContext(8), rounds=4)
    assert not np.array_equal(one.means, other.means)


def test_an_empty_gaussian_comes_back_to_life():
    values = make_values(1000)
    start = start_mixture(values, 6)
    means = start.means.copy()
    means[2] = 1000.0
    lost = GaussianMixture(start.weights, means, start.variances)
    mixture = refine_mixture(values, lost, rounds=8)
    assert np.abs(mixture.means[2]).max() < 20
    assert mixture.weights.min() > 0.005
    assert log_likelihood(values, mixture) > log_likelihood(values, start) - 0.05


def test_variances_have_a_floor():
    values = np.repeat(np.arange(4, dtype=np.float32), 50)[:, None] * np.ones(3, np.float32)
    mixture = learn_mixture(values, 4)
    floor = 1e-3 * values.var(axis=0)
    np.testing.assert_allclose(mixture.variances, np.broadcast_to(floor, (4, 3)), rtol=0.01)


def test_constant_values_and_constant_features_give_a_usable_mixture():
    constant = learn_mixture(np.full((60, 4), 2.0, np.float32), 3)
    assert np.isfinite(constant.sum_moments(np.zeros((5, 4), np.float32)).second).all()
    values = make_values(500)
    values[:, 3] = 0
    assert learn_mixture(values, 5).variances[:, 3].min() > 0


def test_as_many_gaussians_as_rows():
    values = make_values(8)
    mixture = learn_mixture(values, 8, rounds=3)
    assert np.isfinite(log_likelihood(values, mixture))


def test_refuses_fewer_rows_than_gaussians():
    with pytest.raises(InputError, match="9 descriptors"):
        learn_mixture(make_values(9), 10)
