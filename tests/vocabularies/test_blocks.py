"""Sums over blocks: the same bytes by threads and by the workers of a workers."""

import numpy as np
import pytest

from myriad.parallel import LearningContext
from myriad.serialisation import flatten
from myriad.vocabularies import blocks, kmeans, learn_centres, learn_mixture, learn_pca
from myriad.vocabularies.blocks import TASKS, open_blocks, sum_rows
from tests.posting import open_posting


@pytest.fixture
def workers(tmp_path):
    return open_posting(tmp_path / "shared")


@pytest.fixture
def values(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 300)
    rng = np.random.default_rng(0)
    return (rng.standard_normal((2000, 12)) * np.arange(1, 13) + 5).astype(np.float32)


def assert_same(one, other):
    for mine, theirs in zip(flatten(one), flatten(other), strict=True):
        np.testing.assert_equal(mine, theirs)


def test_sums_of_all_rows(values, workers):
    for threads, where in ((1, None), (3, None), (1, workers)):
        with open_blocks(values, LearningContext(threads=threads, workers=where)) as found:
            total = found.sum(sum_rows)
            shapes = list(found.map(np.shape))
        np.testing.assert_allclose(total, values.sum(axis=0, dtype=np.float64), rtol=1e-12)
        assert shapes == [(300, 12)] * 6 + [(200, 12)]
    assert list((workers.folder).iterdir()) == []


@pytest.mark.parametrize("whiten", [False, True])
def test_a_pca_is_the_same_by_workers(values, workers, whiten):
    assert_same(
        learn_pca(values, 5, whiten=whiten),
        learn_pca(values, 5, LearningContext(workers=workers), whiten=whiten),
    )
    assert len(workers.executor.sent) == 2 * TASKS  # the mean, then the products
    assert max(workers.executor.sent) < 2000  # rows stay in the file


def test_a_mixture_is_the_same_by_workers(values, workers):
    here = learn_mixture(values, 4, LearningContext(threads=2), rounds=3)
    assert_same(here, learn_mixture(values, 4, LearningContext(workers=workers), rounds=3))
    assert len(workers.executor.sent) == (2 + 3) * TASKS  # k-means of few rows is done here
    assert list((workers.folder).iterdir()) == []


def test_centres_are_the_same_by_workers(values, workers, monkeypatch):
    monkeypatch.setattr(kmeans, "_MIN_REMOTE_WORK", 0)
    here = learn_centres(values, 8, LearningContext(threads=2), rounds=4)
    np.testing.assert_array_equal(
        here, learn_centres(values, 8, LearningContext(workers=workers), rounds=4)
    )
    assert len(workers.executor.sent) == 4 * TASKS
    assert max(workers.executor.sent) < 2000
    assert list((workers.folder).iterdir()) == []
