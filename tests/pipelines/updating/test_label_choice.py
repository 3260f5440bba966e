"""Rows to label next: unsure, unlike one another, no near-duplicates."""

import numpy as np

from myriad.pipelines.updating.label_choice import (
    NEAR,
    RIDGE,
    Unlabelled,
    choose_rows,
    reduce_variance,
    spread_rows,
)


def make(X, sure, n_classes=4):
    """Return rows of which the model gives the best class the probability `sure`."""
    n = len(X)
    classes = (np.arange(n)[:, None] + np.arange(n_classes)) % n_classes
    rest = (1.0 - np.asarray(sure, np.float64))[:, None] * np.array([0.7, 0.2, 0.1])
    probabilities = np.concatenate([np.asarray(sure, np.float64)[:, None], rest], axis=1)
    return Unlabelled(np.asarray(X, np.float32), classes.astype(np.int32), probabilities)


def draw_clusters(n_clusters=10, n=30, noise=0.2, seed=0):
    base = np.random.default_rng(seed).normal(size=(n_clusters, 20))
    noise = noise * np.random.default_rng(seed + 1).normal(size=(n_clusters * n, 20))
    return (np.repeat(base, n, axis=0) + noise).astype(np.float32)


def test_rows_come_from_what_has_no_labels():
    X = draw_clusters()
    rows = make(X[150:], np.full(150, 0.5))
    known = np.concatenate([X[:150], X[150:210:4]])
    chosen = choose_rows(rows, 4, labelled=known, seed=0)
    assert min(chosen) >= 60  # of the clusters 7, 8 and 9
    assert len({row // 30 for row in chosen}) == 3


def test_doubt_decides_among_clusters_without_labels():
    X = draw_clusters()
    sure = np.where(np.arange(300) < 90, 0.4, 0.999)
    chosen = choose_rows(make(X, sure), 20, seed=0)
    assert sum(row < 90 for row in chosen[:3]) == 3


def test_near_duplicates_are_skipped():
    X = draw_clusters(noise=1e-3)
    chosen = choose_rows(make(X, np.full(300, 0.4)), 50, seed=0)
    assert sorted(np.array(chosen) // 30) == list(range(10))


def test_the_choice_is_the_same_for_a_seed():
    X = np.random.default_rng(0).normal(size=(100, 8))
    rows = make(X, np.full(100, 0.5))
    assert choose_rows(rows, 10, seed=1) == choose_rows(rows, 10, seed=1)
    assert len(choose_rows(rows, 500, seed=0)) <= 100


def test_class_means_stand_for_labelled_rows():
    X = draw_clusters()
    means = X[:210].reshape(7, 30, 20).mean(axis=1)
    chosen = choose_rows(make(X, np.full(300, 0.5)), 3, means=means, seed=0)
    assert min(chosen) >= 210  # of the clusters 7, 8 and 9
    assert len({row // 30 for row in chosen}) == 3


def test_rows_of_many_features_are_clustered_in_few_directions():
    X = draw_clusters()
    wide = X @ np.random.default_rng(5).normal(size=(20, 300)).astype(np.float32)
    rows, known = make(wide[150:], np.full(150, 0.5)), np.concatenate([wide[:150], wide[150:210:4]])
    chosen = choose_rows(rows, 3, labelled=known, seed=0)
    assert min(chosen) >= 60
    assert chosen == choose_rows(rows, 3, labelled=known, seed=0)


def test_each_choice_lowers_the_weighted_sum_of_variances_most():
    """The fast updates agree with the plain definition."""
    draws = np.random.default_rng(0)
    Z, known = draws.normal(size=(40, 6)), draws.normal(size=(7, 6))
    Z, known = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (Z, known))
    weights = draws.random(40)
    expected, H = [], RIDGE * np.eye(6) + known.T @ known

    def add_up(H):
        return weights @ np.einsum("ij,ij->i", Z @ np.linalg.inv(H), Z)

    free = np.ones(40, bool)
    for _ in range(6):
        steps = [H + w * np.outer(z, z) for w, z in zip(weights, Z, strict=True)]
        sums = np.where(free, [add_up(step) for step in steps], np.inf)
        expected.append(int(np.argmin(sums)))
        H = steps[expected[-1]]
        free &= Z @ Z[expected[-1]] < 1 - NEAR
    assert reduce_variance(Z, weights, known, 6) == expected


def test_odd_rows_are_not_chosen():
    """A row unlike all others is doubted most, but says nothing of them."""
    X = draw_clusters(n_clusters=5)
    X = np.concatenate([X, 3 * np.random.default_rng(9).normal(size=(10, 20))]).astype(np.float32)
    sure = np.where(np.arange(160) < 150, 0.6, 0.3)
    assert max(choose_rows(make(X, sure), 5, seed=0)) < 150


def test_few_rows():
    X = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    rows = Unlabelled(X, np.zeros((5, 1), np.int32), np.full((5, 1), 0.9))
    assert len(choose_rows(rows, 2, seed=0)) == 2
    assert choose_rows(make(X[:1], [0.5]), 3, seed=0) == [0]


def test_rows_far_from_one_another():
    base = np.eye(6, dtype=np.float32)
    X = np.concatenate([base[:3], base, base])
    assert sorted(spread_rows(X, 20)) == [0, 1, 2, 6, 7, 8]
    assert spread_rows(X, 2)[0] == 0
    assert spread_rows(X[:0], 2) == []
