"""Kernel PCA against scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.vocabularies import IntersectionPCA, learn_intersection_pca
from myriad.vocabularies.intersection_pca import intersect
from tests.reference import maps as reference


def make_histograms(n=60, size=30, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.5, size=(n, size)) * rng.gamma(2.0, size=size)
    return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)


def test_intersections_agree_with_the_definition():
    rows, others = make_histograms(7), make_histograms(9, seed=1)
    expected = reference.gram(reference.intersection, rows, others)
    np.testing.assert_allclose(intersect(rows, others), expected, atol=2e-7)
    strided = np.repeat(rows, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(intersect(strided, others), intersect(rows, others))


@pytest.mark.parametrize("dim", [3, 10])
def test_agrees_with_scikit_learn_on_the_sample_and_on_new_rows(dim):
    sample, fresh = make_histograms(), make_histograms(20, seed=1)
    ours = learn_intersection_pca(sample, dim)
    theirs = KernelPCA(dim, kernel="precomputed", eigen_solver="dense")
    theirs.fit(reference.gram(reference.intersection, sample, sample))
    for rows in (sample, fresh):
        expected = theirs.transform(reference.gram(reference.intersection, rows, sample))
        projected = ours.project(rows)
        assert projected.dtype == np.float32
        signs = np.sign((projected * expected).sum(axis=0))
        np.testing.assert_allclose(projected, expected * signs, atol=1e-4)


def test_all_components_keep_the_centred_kernel():
    sample = make_histograms(25)
    projected = learn_intersection_pca(sample, 1000).project(sample).astype(np.float64)
    assert projected.shape[1] <= 24
    kernel = reference.gram(reference.intersection, sample, sample)
    centring = np.eye(25) - 1 / 25
    np.testing.assert_allclose(projected @ projected.T, centring @ kernel @ centring, atol=1e-4)


def test_landmarks_are_drawn_by_the_seed_and_generalise():
    rows = make_histograms(400)
    few = learn_intersection_pca(rows, 20, n_landmarks=80, seed=1)
    same = learn_intersection_pca(rows, 20, n_landmarks=80, seed=1)
    other = learn_intersection_pca(rows, 20, n_landmarks=80, seed=2)
    assert len(few.landmarks) == 80
    np.testing.assert_array_equal(few.components, same.components)
    assert not np.array_equal(few.landmarks, other.landmarks)
    full = learn_intersection_pca(rows, 20).project(rows)
    found = few.project(rows)
    spread = ((full - full.mean(axis=0)) ** 2).sum()
    assert 0.8 < ((found - found.mean(axis=0)) ** 2).sum() / spread < 1.05


def test_survives_a_round_trip():
    pca = learn_intersection_pca(make_histograms(), 5)
    again = restore(*flatten(pca), IntersectionPCA)
    rows = make_histograms(seed=2)
    np.testing.assert_array_equal(again.project(rows), pca.project(rows))


def test_refuses_what_it_cannot_learn_from():
    with pytest.raises(InputError, match="negative"):
        learn_intersection_pca(-make_histograms(), 3)
    with pytest.raises(InputError, match="two images"):
        learn_intersection_pca(make_histograms(1), 3)
    with pytest.raises(InputError, match="same histogram"):
        learn_intersection_pca(np.repeat(make_histograms(1), 5, axis=0), 3)
    with pytest.raises(InputError, match="one component"):
        learn_intersection_pca(make_histograms(), 0)


@pytest.mark.parametrize(
    "change",
    [
        {"offset": np.zeros(4, np.float32)},
        {"offset": "none"},
        {"landmarks": np.zeros((3, 30), np.float32)},
        {"landmarks": np.zeros(60, np.float32)},
        {"components": np.zeros((60, 5))},
        {"components": np.full((60, 5), np.inf, np.float32)},
        {"components": np.zeros((60, 0), np.float32)},
    ],
)
def test_refuses_damaged_fields(change):
    pca = learn_intersection_pca(make_histograms(), 5)
    fields = {name: getattr(pca, name) for name in ("landmarks", "components", "offset")}
    with pytest.raises(InputError):
        IntersectionPCA(**(fields | change))
