"""Held-out scores of an extended model, its scale and its novelty score."""

import numpy as np
import pytest

from myriad.models import HeldScores
from myriad.store import ArrayRows
from myriad.training.extension_calibration import (
    add_points,
    find_margins,
    find_scale,
    join_held_scores,
    pair_by_class,
)
from myriad.training.novelty import learn_novelty
from tests.models.folders import draw_rows, make_folder


def test_rows_are_paired_with_rows_of_their_class():
    first = np.array([0, 0, 1, 2, 4], np.int32)
    second = np.array([1, 0, 5, 2, 0, 1], np.int32)
    partners = pair_by_class(first, second, 5, seed=0)
    assert second[partners[:4]].tolist() == [0, 0, 1, 2]
    assert second[partners[4]] < 5  # class 4 has no row of its own


def test_scores_are_joined():
    scores = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    labels = np.arange(40, dtype=np.int32) % 7
    is_old = labels < 5
    old = HeldScores.of(scores[is_old, :5], labels[is_old])
    new = HeldScores.of(scores[~is_old, :5], np.zeros((~is_old).sum(), np.int32))
    found = join_held_scores(
        old,
        labels,
        HeldScores(
            labels[~is_old], scores[~is_old, labels[~is_old]], *list(vars(new).values())[2:]
        ),
        scores[:, 5:],
        5,
        seed=0,
    )
    assert len(found) == 40
    assert found.classes.shape == (40, 7)
    rows = np.flatnonzero(~is_old)
    expected = HeldScores.of(scores[rows], labels[rows])
    np.testing.assert_array_equal(found.classes[is_old.sum() :], expected.classes)
    np.testing.assert_array_equal(found.true[is_old.sum() :], expected.true)
    assert (np.diff(found.scores, axis=1) <= 0).all()


def test_margins_are_those_of_all_scores():
    scores = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32)
    labels = np.arange(40, dtype=np.int32) % 7
    others = np.exp(2.0 * scores.astype(np.float64))
    others[np.arange(40), labels] = 0.0
    expected = 2.0 * scores[np.arange(40), labels] - np.log(others.sum(axis=1))
    found = find_margins(HeldScores.of(scores, labels), 2.0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_scale_is_that_of_the_calibration_or_found_from_rows():
    folder = make_folder(5)
    X, labels = draw_rows(600, 5, 6, seed=4)
    assert find_scale(folder.calibration, folder.model, X, labels) == folder.calibration.scale
    found = find_scale(None, folder.model, X, labels)
    assert found == pytest.approx(folder.calibration.scale, rel=0.3)
    assert find_scale(None, folder.model, X[:9], labels[:9]) == 1.0


def test_a_novelty_score_learns_the_means_of_new_classes():
    X, labels = draw_rows(400, 5, 12, seed=5)
    best_scores = np.zeros(400)
    novelty = learn_novelty(ArrayRows(X, labels), 5, labels, best_scores, seed=0)
    more = X[labels == 2]
    found = add_points(novelty, more, np.zeros(len(more), np.int32), 2)
    assert found.points.shape == (7, novelty.points.shape[1])
    np.testing.assert_allclose(found.points[5], novelty.points[2], atol=1e-4)
    assert np.isnan(found.points[6]).all()
