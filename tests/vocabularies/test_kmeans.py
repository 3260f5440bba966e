"""k-means: quality against scikit-learn and faiss, and sameness."""

import faiss
import numpy as np
import pytest
from sklearn.cluster import KMeans

from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.vocabularies import learn_centres, nearest_centres
from myriad.vocabularies.kmeans import add_residuals
from tests.reference import residuals as reference


def make_values(n=3000, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((10, dim)) * 3
    return (centres[rng.integers(0, 10, n)] + rng.standard_normal((n, dim))).astype(np.float32)


def distortion(values, centres):
    distances = ((values[:, None, :] - centres) ** 2).sum(axis=2)
    return distances.min(axis=1).mean()


def test_is_as_good_as_scikit_learn():
    values = make_values()
    ours = learn_centres(values, 20, rounds=25)
    theirs = KMeans(20, n_init=1, init="random", random_state=0).fit(values)
    assert ours.shape == (20, 6)
    assert distortion(values, ours) < 1.1 * distortion(values, theirs.cluster_centers_)


def test_is_as_good_as_faiss():
    values = make_values(12_000, dim=16)
    ours = learn_centres(values, 50, LearningContext(1))
    theirs = faiss.Kmeans(16, 50, niter=15, seed=1, min_points_per_centroid=1)
    theirs.train(values)
    assert distortion(values, ours) < 1.05 * distortion(values, theirs.centroids)


def test_agrees_with_plain_rounds():
    values = make_values(2000)  # fewer than 256 a centre, so all are looked at
    centres = learn_centres(values, 9, LearningContext(3), rounds=0).astype(np.float64)
    assert all((values == centre).all(axis=1).any() for centre in centres)
    for _ in range(4):
        labels = ((values[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([values[labels == c].mean(axis=0, dtype=float) for c in range(9)])
    np.testing.assert_allclose(
        learn_centres(values, 9, LearningContext(3), rounds=4), centres, atol=1e-4
    )


def test_is_the_same_on_any_number_of_threads():
    values = make_values(40_000)
    one, two = (learn_centres(values, 100, LearningContext(4, threads)) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, learn_centres(values, 100, LearningContext(5)))


def test_a_centre_without_rows_takes_half_of_the_largest():
    values = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0)
    values[:150] += 0.3 * np.random.default_rng(0).standard_normal((150, 4)).astype(np.float32)
    values[150:] = 5.0  # of 12 centres drawn from these some are equal
    centres = learn_centres(values, 12, rounds=10)
    assert len(np.unique(nearest_centres(values, centres))) > 8
    assert np.isfinite(centres).all()


def test_nearest_centres():
    values, centres = make_values(500), make_values(30, seed=1)
    expected = ((values[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_centres(values, centres), expected)


def test_as_many_rows_as_centres():
    values = make_values(12)
    centres = learn_centres(values, 12)
    assert distortion(values, centres) < 1e-6


@pytest.mark.parametrize("n_centres", [0, 13])
def test_refuses_a_wrong_number(n_centres):
    with pytest.raises(InputError):
        learn_centres(make_values(12), n_centres)


def test_agrees_with_the_twin():
    rng = np.random.default_rng(0)
    rows, centres = rng.random((200, 5), np.float32), rng.random((7, 5), np.float32)
    words = rng.integers(0, 7, 200).astype(np.int32)
    cells = rng.integers(0, 3, 200).astype(np.int32)
    sums = np.zeros((3, 7, 5), np.float32)
    add_residuals(rows, words, cells, centres, sums)
    expected = reference.sum_residuals(rows, words, cells, centres, 3)
    np.testing.assert_allclose(sums, expected, atol=1e-5)
