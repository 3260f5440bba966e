"""Held-out scores of models whose classes change, compared with scores that are all known."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.measures import rank_truths
from myriad.models import HeldScores, calibrate
from myriad.models.calibration.held_classes import add_classes, join_held, rank_held, relabel_held
from myriad.models.calibration.held_scores import MOST_CLASSES


def draw(n_classes, n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_rows, n_classes)).astype(np.float32)
    labels = rng.integers(0, n_classes, n_rows).astype(np.int32)
    scores[np.arange(n_rows), labels] += 2.0
    return scores, labels


def sum_of(held, scale=1.0):
    """Return the sum of the exponentials of all scores of each row."""
    rest = held.rest_counts * np.exp(scale * held.rest_scores)
    return np.exp(scale * held.scores).sum(axis=1) + rest.sum(axis=1)


@pytest.mark.parametrize("n_classes", [12, MOST_CLASSES + 40])
def test_ranks_are_those_of_all_scores(n_classes):
    scores, labels = draw(n_classes)
    found = rank_held(HeldScores.of(scores, labels))
    expected = rank_truths(scores, labels)
    listed = expected <= MOST_CLASSES
    np.testing.assert_array_equal(found[listed], expected[listed])


@pytest.mark.parametrize("numbers", [[0, -1, 1, 2, 3, 4, 5, -1], [0, 1, 0, 2, 3, 1, 4, 5]])
def test_fewer_labels(numbers):
    numbers = np.array(numbers, np.int32)
    scores, labels = draw(8)
    held = relabel_held(HeldScores.of(scores, labels), numbers)
    n_left = numbers.max() + 1
    fewer = np.stack([scores[:, numbers == c].max(axis=1) for c in range(n_left)], axis=1)
    rows = numbers[labels] >= 0
    expected = HeldScores.of(fewer[rows], numbers[labels[rows]])
    for name in ("labels", "true", "classes", "scores"):
        np.testing.assert_array_equal(getattr(held, name), getattr(expected, name))


def test_classes_left_out_of_many():
    scores, labels = draw(MOST_CLASSES + 40)
    numbers = np.arange(MOST_CLASSES + 40, dtype=np.int32) - 3
    held = HeldScores.of(scores, labels)
    found = relabel_held(held, np.maximum(numbers, -1))
    rows = labels >= 3
    gone = np.where(held.classes < 3, np.exp(held.scores), 0).sum(axis=1)
    np.testing.assert_allclose(sum_of(found), (sum_of(held) - gone)[rows], rtol=1e-4)
    assert (found.classes >= 0).all()


def test_more_classes():
    scores, labels = draw(9)
    found = add_classes(HeldScores.of(scores[:, :6], np.minimum(labels, 5)), scores[:, 6:], 6)
    expected = HeldScores.of(scores, labels)
    np.testing.assert_array_equal(found.classes, expected.classes)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_sets_of_unequal_width_are_joined():
    first, second = draw(MOST_CLASSES + 40), draw(7, seed=1)
    parts = [HeldScores.of(*first), HeldScores.of(*second)]
    found = join_held(parts)
    assert found.classes.shape == (60, 7)
    np.testing.assert_allclose(sum_of(found), np.concatenate([sum_of(p) for p in parts]), rtol=1e-4)


def test_a_row_that_loses_all_of_its_best_classes_cannot_be_calibrated_on():
    """More classes are left out than are kept for a row, and its true class is not among these."""
    scores, labels = draw(MOST_CLASSES + 40, n_rows=90)
    labels[:] = np.argmin(scores[0])
    held = HeldScores.of(scores, labels)
    numbers = np.arange(MOST_CLASSES + 40, dtype=np.int32)
    numbers[held.classes[0]] = -1
    fewer = relabel_held(held, numbers)
    assert len(fewer) == 90
    assert fewer.scores.shape == (90, 0)
    assert calibrate(fewer, "split") is None


def test_empty_groups_do_not_overflow():
    """Groups that a row does not have are zeros, far above scores that are all negative."""
    scores, labels = draw(6, n_rows=90)
    plain = HeldScores.of(scores - 5000, labels)
    padded = replace(
        plain,
        rest_scores=np.zeros((90, 1), np.float32),
        rest_counts=np.zeros((90, 1), np.float32),
    )
    assert calibrate(padded, "split").scale == pytest.approx(calibrate(plain, "split").scale)


def test_rows_that_keep_one_class_are_calibrated_on():
    """All but one of the best classes of a row are left out."""
    scores, labels = draw(MOST_CLASSES + 40, n_rows=400)
    held = HeldScores.of(scores, labels)
    numbers = np.arange(MOST_CLASSES + 40, dtype=np.int32)
    numbers[held.classes[0, 1:]] = -1
    fewer = relabel_held(held, numbers)
    assert fewer.scores.shape[1] == 1
    found = calibrate(fewer, "split")
    assert found is not None
    assert 0.1 < found.scale < 10
