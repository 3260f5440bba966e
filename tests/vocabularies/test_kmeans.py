"""k-means: quality against scikit-learn, and sameness."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from myriad.errors import InputError
from myriad.vocabularies import learn_centres, nearest_centres


def make_values(n=3000, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((10, dim)) * 3
    return (centres[rng.integers(0, 10, n)] + rng.standard_normal((n, dim))).astype(np.float32)


def distortion(values, centres):
    distances = ((values[:, None, :] - centres) ** 2).sum(axis=2)
    return distances.min(axis=1).mean()


def test_is_as_good_as_scikit_learn():
    values = make_values()
    ours = learn_centres(values, 20, seed=0, rounds=25)
    theirs = KMeans(20, n_init=1, init="random", random_state=0).fit(values)
    assert ours.shape == (20, 6)
    assert distortion(values, ours) < 1.1 * distortion(values, theirs.cluster_centers_)


def test_is_the_same_on_any_number_of_threads():
    values = make_values(12_000)
    with threadpool_limits(2):
        two = learn_centres(values, 16, seed=4)
    with threadpool_limits(1):
        one = learn_centres(values, 16, seed=4)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, learn_centres(values, 16, seed=5))


def test_nearest_centres():
    values, centres = make_values(500), make_values(30, seed=1)
    expected = ((values[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_centres(values, centres), expected)


def test_as_many_rows_as_centres():
    values = make_values(12)
    centres = learn_centres(values, 12, seed=0)
    assert distortion(values, centres) < 1e-6


@pytest.mark.parametrize("n_centres", [0, 13])
def test_refuses_a_wrong_number(n_centres):
    with pytest.raises(InputError):
        learn_centres(make_values(12), n_centres, seed=0)
