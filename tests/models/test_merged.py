"""Merged classes: the best of their scores, files, and further changes."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import LinearModel, MergedModel, NeighboursModel
from myriad.serialisation import flatten, restore


def make_model(n_classes=5, dim=4):
    rng = np.random.default_rng(0)
    return LinearModel(
        rng.normal(size=(n_classes, dim)).astype(np.float32),
        rng.normal(size=n_classes).astype(np.float32),
    )


X = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)


def test_the_score_of_merged_classes_is_the_highest_of_theirs():
    model = make_model()
    merged = model.relabelled(np.array([0, 1, 0, 2, -1], np.int32))
    assert isinstance(merged, MergedModel)
    scores = model.scores(X)
    expected = np.stack([scores[:, [0, 2]].max(axis=1), scores[:, 1], scores[:, 3]], axis=1)
    np.testing.assert_array_equal(merged.scores(X), expected)
    assert merged.n_classes == 3
    np.testing.assert_array_equal(merged.scores_of(X, slice(1, 3)), expected[:, 1:])
    weights, bias = merged.class_weights(2)
    np.testing.assert_array_equal(weights, model.weights[3])
    assert bias == model.biases[3]
    with pytest.raises(InputError, match="not linear"):
        merged.class_weights(0)


def test_classes_that_are_left_out_leave_a_linear_model():
    model = make_model()
    kept = model.relabelled(np.array([0, -1, 1, 2, 3], np.int32))
    assert isinstance(kept, LinearModel)
    np.testing.assert_array_equal(kept.scores(X), model.scores(X)[:, [0, 2, 3, 4]])


def test_merged_models_can_be_changed_again_and_kept():
    model = make_model()
    merged = model.relabelled(np.array([0, 1, 0, 2, 3], np.int32))
    more = merged.with_classes(make_model(2))
    assert more.n_classes == 6
    np.testing.assert_array_equal(more.scores(X)[:, :4], merged.scores(X))
    np.testing.assert_array_equal(more.scores(X)[:, 4:], make_model(2).scores(X))
    again = more.relabelled(np.array([0, 0, 1, 2, -1, 3], np.int32))
    scores = more.scores(X)
    np.testing.assert_array_equal(again.scores(X)[:, 0], scores[:, :2].max(axis=1))
    restored = restore(*flatten(again))
    np.testing.assert_array_equal(restored.scores(X), again.scores(X))


@pytest.mark.parametrize("starts", [[1, 2], [0, 0], [0, 9], []])
def test_damaged_labels_are_refused(starts):
    with pytest.raises(InputError, match="merged classes"):
        MergedModel(make_model(), np.array(starts, np.int32))


def test_models_without_weights_of_classes_cannot_change():
    neighbours = NeighboursModel(X, np.arange(9, dtype=np.int32) % 3, 3, 1)
    with pytest.raises(InputError, match="cannot be added, removed or merged"):
        neighbours.relabelled(np.array([0, 1, -1], np.int32))
