"""Rows to label next: unsure, unlike one another, no near-duplicates."""

import numpy as np

from myriad.pipelines.label_choice import Unlabelled, choose_rows, spread_rows


def make(X, sure, n_classes=4):
    """Return rows of which the model gives the best class the probability `sure`."""
    n = len(X)
    classes = (np.arange(n)[:, None] + np.arange(n_classes)) % n_classes
    rest = (1.0 - np.asarray(sure, np.float64))[:, None] * np.array([0.7, 0.2, 0.1])
    probabilities = np.concatenate([np.asarray(sure, np.float64)[:, None], rest], axis=1)
    return Unlabelled(np.asarray(X, np.float32), classes.astype(np.int32), probabilities)


def test_unsure_rows_come_first():
    X = np.random.default_rng(0).normal(size=(400, 20))
    sure = np.where(np.arange(400) < 40, 0.4, 0.999)
    chosen = choose_rows(make(X, sure), 20, seed=0)
    assert len(set(chosen)) == 20
    assert max(chosen) < 40


def test_near_duplicates_are_passed_over():
    base = np.random.default_rng(0).normal(size=(10, 20))
    X = np.repeat(base, 30, axis=0) + 1e-3 * np.random.default_rng(1).normal(size=(300, 20))
    chosen = choose_rows(make(X, np.full(300, 0.4)), 50, seed=0)
    assert sorted(np.array(chosen) // 30) == list(range(10))


def test_the_choice_depends_on_the_seed_alone():
    X = np.random.default_rng(0).normal(size=(100, 8))
    rows = make(X, np.full(100, 0.5))
    assert choose_rows(rows, 10, seed=1) == choose_rows(rows, 10, seed=1)
    assert choose_rows(rows, 10, seed=1) != choose_rows(rows, 10, seed=2)
    assert len(choose_rows(rows, 500, seed=0)) <= 100


def test_rows_the_model_is_certain_of_are_not_chosen():
    X = np.random.default_rng(0).normal(size=(5, 8))
    assert choose_rows(make(X, np.ones(5)), 3, seed=0) == []


def test_one_class():
    X = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    rows = Unlabelled(X, np.zeros((5, 1), np.int32), np.full((5, 1), 0.9))
    assert len(choose_rows(rows, 2, seed=0)) == 2


def test_rows_far_from_one_another():
    base = np.eye(6, dtype=np.float32)
    X = np.concatenate([base[:3], base, base])
    assert sorted(spread_rows(X, 20)) == [0, 1, 2, 6, 7, 8]
    assert spread_rows(X, 2)[0] == 0
    assert spread_rows(X[:0], 2) == []
