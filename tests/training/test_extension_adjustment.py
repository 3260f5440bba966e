"""The factor and the shift of new scores: the optimum, and what they undo."""

import numpy as np
import pytest

from myriad.training.extension_adjustment import adjust, balance
from tests.models.folders import draw_rows, make_folder


def draw(factor=1.0, shift=0.0, n_rows=4000):
    """Return true logits of 8 classes, those of the last 3 changed, as `adjust` takes them."""
    folder = make_folder(8, scale=1.0)
    X, labels = draw_rows(n_rows, 8, 6, seed=3)
    logits = folder.model.scores(X) / 0.81  # the logits of rows with this deviation
    sums = np.log(np.exp(logits[:, :5].astype(np.float64)).sum(axis=1))
    targets = np.where(labels >= 5, labels - 5, -1).astype(np.int32)
    return sums, factor * logits[:, 5:] + np.float32(shift), targets


@pytest.mark.parametrize(("factor", "shift"), [(1.0, -1.0), (1.0, 1.5), (0.4, 0.0), (2.0, 3.0)])
def test_what_was_done_to_the_scores_is_undone(factor, shift):
    sums, logits, targets = draw(factor, shift)
    found = adjust(sums, logits, targets, np.ones(len(sums)))
    assert found.factor == pytest.approx(1 / factor, rel=0.15)
    assert found.factor * shift + found.shift == pytest.approx(0.0, abs=0.25)
    untouched = draw()
    least = adjust(*untouched, np.ones(len(sums))).loss
    assert found.loss == pytest.approx(least, rel=0.02)
    assert adjust(sums, logits, targets, None).loss > least * (1 + 1e-4)


def test_the_loss_is_that_of_all_classes():
    sums, logits, targets = draw(n_rows=100)
    every = np.concatenate([sums[:, None], logits], axis=1).astype(np.float64)
    # The fixed classes count as one: a row of theirs is right if any of them is meant.
    expected = np.log(np.exp(every).sum(axis=1)) - every[np.arange(100), 1 + targets]
    found = adjust(sums, logits, targets, None)
    assert (found.factor, found.shift) == (1.0, 0.0)
    assert found.loss == pytest.approx(expected.mean(), rel=1e-6)


def test_it_does_not_matter_which_number_all_logits_have_in_common():
    sums, logits, targets = draw(0.5, n_rows=200)
    first = adjust(sums, logits, targets, np.ones(200))
    second = adjust(sums + 50.0, logits + np.float32(50.0), targets, np.ones(200))
    assert second.factor == pytest.approx(first.factor, rel=1e-3)
    assert second.loss == pytest.approx(first.loss, rel=1e-3)


def test_classes_count_alike():
    weights = balance(np.array([0, 0, 0, 2], np.int32))
    np.testing.assert_allclose(weights, [2 / 3, 2 / 3, 2 / 3, 2.0])
