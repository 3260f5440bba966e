"""The top-k entropy loss: its value, its conjugate, and how it is related to softmax."""

import numpy as np
import pytest
from scipy.special import logsumexp

from myriad.objectives.topk_entropy import conjugate, value
from tests.reference import topk_entropy as reference


def draw_problems(n, spread=3.0):
    rng = np.random.default_rng(1)
    for _ in range(n):
        n_classes = int(rng.integers(2, 12))
        yield spread * rng.standard_normal(n_classes), int(rng.integers(n_classes))


@pytest.mark.parametrize("spread", [0.1, 3.0, 300.0])
def test_is_softmax_for_one_guess(spread):
    for scores, label in draw_problems(50, spread):
        expected = logsumexp(scores) - scores[label]
        assert value(scores, label, 1) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_is_the_largest_of_its_problem():
    for scores, label in draw_problems(12):
        before = scores.copy()
        for k in range(1, len(scores)):
            expected = reference.loss(scores, label, k)
            assert value(scores, label, k) == pytest.approx(expected, rel=1e-8)
        np.testing.assert_array_equal(scores, before)


def test_falls_with_the_number_of_guesses():
    for scores, label in draw_problems(50):
        losses = [value(scores, label, k) for k in range(1, len(scores))]
        assert all(np.diff(losses) <= 1e-12)


def test_ties_and_far_scores():
    assert value(np.zeros(5), 2, 3) == pytest.approx(np.log(5))
    # One wrong class far above all others counts with the share 1/2 of two guesses.
    scores = np.array([2000.0, 0.0, 0.0, 0.0])
    shared = 1000.0 + np.log(2) / 2 + (np.log(2) + np.log(2)) / 2
    assert value(scores, 1, 2) == pytest.approx(shared)
    assert value(-scores, 1, 2) == pytest.approx(np.log(3))


@pytest.mark.parametrize("r", [1.0, 0.2])
def test_conjugate_is_the_entropy_and_knows_its_domain(r):
    z = np.array([0.2, 0.1, 0.25])
    assert conjugate(r * z, 2, r) == pytest.approx(-r * reference.entropy(z))
    assert conjugate(r * np.array([0.5, 0.5]), 2, r) == pytest.approx(-r * np.log(2))
    assert conjugate(np.zeros(0), 3, r) == 0.0
    assert conjugate(r * np.array([0.6, 0.6]), 1, r) == np.inf
    assert conjugate(r * np.array([0.3, 0.1]), 2, r) == np.inf
