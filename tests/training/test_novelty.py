"""The novelty score: plain distances, rows left out of their own mean, classes left out."""

import numpy as np
from sklearn.metrics import roc_auc_score

from myriad.models.calibration.novelty import project
from myriad.store import ArrayRows
from myriad.training.novelty import learn_novelty, leave_out, pair_rows

RNG = np.random.default_rng(0)


def test_distances_are_plain_ones_where_all_directions_are_kept():
    X = RNG.normal(size=(200, 6)).astype(np.float32)
    y = (np.arange(200) % 4).astype(np.int32)
    found = learn_novelty(ArrayRows(X, y), 4, y, np.zeros(200), seed=0)
    means = np.stack([X[y == c].mean(axis=0) for c in range(4)])
    test = RNG.normal(size=(20, 6)).astype(np.float32)
    plain = np.sqrt(((test[:, None] - means) ** 2).sum(axis=2)).min(axis=1)
    expected = (plain - found.centre) / found.spread
    np.testing.assert_allclose(found.measure(test, np.zeros(20)), expected, rtol=1e-3, atol=1e-3)


def test_rows_are_left_out_of_their_own_mean():
    X = RNG.normal(size=(30, 3)).astype(np.float32)
    y = (np.arange(30) % 3).astype(np.int32)
    points = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    found = leave_out(X, np.zeros(30), y, points, np.bincount(y))
    for row in range(30):
        others = np.arange(30) != row
        means = [X[others & (y == c)].mean(axis=0) for c in range(3)]
        nearest = min(np.linalg.norm(X[row] - mean) for mean in means)
        np.testing.assert_allclose(found[row], nearest, rtol=1e-4)


def test_rows_are_paired_by_class():
    first, second = RNG.integers(0, 5, 40).astype(np.int32), RNG.integers(0, 5, 25).astype(np.int32)
    own, other = pair_rows(first, second)
    np.testing.assert_array_equal(first[own], second[other])
    assert len(set(own)) == len(own)
    expected = np.minimum(np.bincount(first, minlength=5), np.bincount(second, minlength=5)).sum()
    assert len(own) == expected


def test_rows_of_other_classes_are_novel():
    means = 3 * RNG.normal(size=(12, 20))
    y = RNG.integers(0, 12, 900)
    X = (means[y] + RNG.normal(size=(900, 20))).astype(np.float32)
    known = y[:600] < 9
    labels = y[:600][known].astype(np.int32)
    rows = ArrayRows(X[:600][known], labels)
    found = learn_novelty(rows, 9, labels, np.zeros(len(labels)), seed=0)
    scores = found.measure(X[600:], np.zeros(300))
    assert roc_auc_score(y[600:] >= 9, scores) > 0.9
    limit = found.find_limit(0.1)
    assert abs((scores[y[600:] < 9] > limit).mean() - 0.1) < 0.08


def test_directions_that_do_not_fit():
    X = RNG.normal(size=(3, 50)).astype(np.float32)
    assert learn_novelty(ArrayRows(X, np.arange(3)), 3, np.arange(3), np.zeros(3), seed=0) is None


def test_what_is_outside_of_the_directions_counts():
    X = RNG.normal(size=(5, 8)).astype(np.float32)
    Z, outside = project(X, np.zeros(8, np.float32), np.eye(8, dtype=np.float32)[:3])
    np.testing.assert_allclose(Z, X[:, :3])
    np.testing.assert_allclose(outside, (X[:, 3:] ** 2).sum(axis=1), rtol=1e-5)
