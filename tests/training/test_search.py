"""What searches share: subsamples, halving, and the end of a path."""

import numpy as np

from myriad.store import ArrayRows
from myriad.training.search import halve, has_peaked, subsample


def make_rows(n=600, dim=8, n_classes=6, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + spread * rng.standard_normal((n_classes, dim))[labels]
    return ArrayRows(X.astype(np.float32), labels)


def test_large_problems_are_searched_on_a_part():
    rows = make_rows(n=5000)
    assert subsample(rows, 10, 6, seed=0) is rows
    part = subsample(rows, 10**8, 6, seed=0)
    assert part.n_rows == 2000
    assert set(part.labels) == set(range(6))


def test_the_best_survive_and_the_first_of_equals_comes_first():
    scores = {"a": 1, "b": 3, "c": 3, "d": 0, "e": 2, "f": 1, "g": 0, "h": 0, "i": 0}
    assert halve(list(scores), scores.get, 1 / 3) == ["b", "c", "e"]
    assert halve(["a", "b", "c"], scores.get, 1 / 4) == ["b", "c"]


def test_a_path_ends_after_some_values_without_a_rise():
    assert not has_peaked([], 2)
    assert not has_peaked([(1, 0), (2, 0), (2, 0)], 2)
    assert has_peaked([(1, 0), (2, 0), (2, 0), (1, 9)], 2)
