"""The class-confusion loss against its definition, and sibling precision on a small hierarchy."""

import numpy as np

from myriad.measures import class_confusion, sibling_precision

PARENTS = np.array([0, 0, 0, 1, 1, 2], np.int32)  # three animals, two trees, a rock


def confuse_plainly(truths, guesses):
    losses = []
    for y, guess in zip(truths, guesses, strict=True):
        others = guesses[truths == y]
        losses.append((others != guess).mean() if guess != y else 0.0)
    return 100 * np.mean(losses)


def test_equals_its_definition():
    rng = np.random.default_rng(0)
    truths, guesses = rng.integers(0, 5, (2, 200)).astype(np.int32)
    found = class_confusion(truths, guesses)
    np.testing.assert_allclose(found, confuse_plainly(truths, guesses))
    assert found < 100 * (truths != guesses).mean()


def test_costs_of_the_papers_figure():
    """One of eleven taken for another class costs 10/11; four of eleven cost 7/11 each."""
    stray = class_confusion(np.zeros(11, np.int32), np.array([1] + [0] * 10, np.int32))
    np.testing.assert_allclose(stray, 100 * (10 / 11) / 11)
    twins = class_confusion(np.zeros(11, np.int32), np.array([1] * 4 + [0] * 7, np.int32))
    np.testing.assert_allclose(twins, 100 * 4 * (7 / 11) / 11)


def test_unknown_classes_are_left_out():
    truths, guesses = np.array([-1, 0, 0], np.int32), np.array([0, 0, 1], np.int32)
    assert class_confusion(truths, guesses) == 25.0
    assert class_confusion(truths[:1], guesses[:1]) is None


def test_siblings_count_as_right():
    truths = np.array([0, 0, 3, 5, -1], np.int32)
    best = np.array([[1], [3], [3], [5], [0]], np.int32)
    assert sibling_precision(truths, best, PARENTS) == 75.0


def test_no_more_is_asked_for_than_there_are_siblings():
    truths = np.array([3, 0, 5], np.int32)
    best = np.array([[4, 3, 0, 1], [0, 1, 5, 4], [1, 2, 3, 4]], np.int32)
    expected = 100 * np.mean([2 / 2, 2 / 3, 0 / 1])
    np.testing.assert_allclose(sibling_precision(truths, best, PARENTS), expected)
    assert sibling_precision(truths[:0], best[:0], PARENTS) is None
