"""The class-confusion loss against its definition, and the paper's own example."""

import numpy as np

from myriad.measures import class_confusion


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
