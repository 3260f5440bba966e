"""The frozen mixture: its sums against the twin, and what it refuses."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.vocabularies import GaussianMixture
from myriad.vocabularies import mixture as module
from tests.reference import posteriors as reference


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
    assert sums.evidence == pytest.approx(expected[3], rel=1e-6)


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
    assert sums.evidence == 0


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
