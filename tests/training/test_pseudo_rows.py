"""Rows that stand for those of classes whose images are gone."""

import numpy as np

from myriad.store import ArrayRows
from myriad.training.novelty import learn_novelty
from myriad.training.pseudo_rows import FEWEST, draw_pseudo_rows
from tests.models.folders import draw_rows


def test_pseudo_rows_have_the_means_and_the_spread_of_their_classes():
    X, labels = draw_rows(2000, 6, 8, seed=0)
    novelty = learn_novelty(ArrayRows(X, labels), 6, labels, np.zeros(2000), seed=0)
    new, new_labels = draw_rows(600, 9, 8, seed=1)
    new, new_labels = new[new_labels >= 6], new_labels[new_labels >= 6]
    found, classes = draw_pseudo_rows(novelty, new, new_labels, seed=0)
    assert found.dtype == np.float32
    assert np.bincount(classes).min() == np.bincount(classes).max() > FEWEST
    for c in range(6):
        np.testing.assert_allclose(
            found[classes == c].mean(axis=0), X[labels == c].mean(axis=0), atol=0.6
        )
        assert 0.7 < found[classes == c].std() / X[labels == c].std() < 1.4


def test_classes_of_single_rows_give_the_means_alone():
    X, labels = draw_rows(300, 4, 8, seed=0)
    novelty = learn_novelty(ArrayRows(X, labels), 4, labels, np.zeros(300), seed=0)
    found, classes = draw_pseudo_rows(novelty, X[:2], np.array([0, 1], np.int32), seed=0)
    assert len(found) == 4 * FEWEST
    assert np.ptp(found[classes == 3], axis=0).max() == 0
