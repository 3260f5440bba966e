"""Training twice: confusions are counted, and the worst classes left out."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models.embedding import EmbeddingModel
from myriad.store import ArrayRows
from myriad.training import Context, WsabieMethod
from myriad.training.embedding.second_stage import (
    count_confusions,
    exclude_classes,
    find_worst,
    rank_last,
)

LISTS = [[0], [0], [0], [1, 2], [1], [2], []]
GUESSES = np.array([0, 1, 1, 2, 0, 0, 1], np.int32)


def make_rows():
    X = np.random.default_rng(0).standard_normal((len(LISTS), 3)).astype(np.float32)
    return ArrayRows(X, LabelSets.from_lists(LISTS), ["a", "b", "c", "d"])


def test_confusions_are_fractions_of_the_rows_of_a_class():
    found = count_confusions(make_rows(), GUESSES, 4)
    M = np.zeros((4, 4))
    for y in range(4):
        for entry in range(found.starts[y], found.starts[y + 1]):
            M[y, found.classes[entry]] = found.fractions[entry]
    expected = np.zeros((4, 4))
    for labels, guess in zip(LISTS, GUESSES, strict=True):
        for y in labels:
            if guess not in labels:
                expected[y, guess] += 1 / sum(y in some for some in LISTS)
    np.testing.assert_allclose(M, expected)


def test_the_worst_classes_are_those_recognised_least():
    # Recognised: a third of 0, nothing of 1, half of 2; class 3 has no rows.
    assert find_worst(make_rows(), GUESSES, 4, 0.3).tolist() == [1]
    assert find_worst(make_rows(), GUESSES, 4, 0.9).tolist() == [1]  # two classes are left
    assert find_worst(make_rows(), GUESSES, 4, 0.1).tolist() == [1]  # at least one
    pair = ArrayRows(np.eye(2, dtype=np.float32), np.array([0, 1], np.int32), ["a", "b"])
    assert find_worst(pair, np.zeros(2, np.int32), 3, 0.9).tolist() == []
    kept = exclude_classes(make_rows(), np.array([1]))
    assert kept.n_rows == 5


def make_problem(n_classes=6):
    draws = np.random.default_rng(1)
    y = np.tile(np.arange(n_classes, dtype=np.int32), 40)
    centres = draws.standard_normal((n_classes, 8)) * 2
    centres[1] = centres[0]  # cannot be distinguished
    X = (centres[y] + draws.standard_normal((len(y), 8))).astype(np.float32)
    names = [str(c) for c in range(n_classes)]
    return [ArrayRows(X[part], y[part], names) for part in (slice(0, 160), slice(160, None))]


@pytest.mark.parametrize("stage", ["confusion", "delete"])
def test_a_second_stage_keeps_the_settings_of_the_first(stage):
    train, val = make_problem()
    options = {"dim": 4, "eta": 0.1, "margin": 0.1, "epochs": 5, "n_classes": 6}
    n_classes = options.pop("n_classes")
    method = WsabieMethod(second_stage=stage, deleted=0.2, **options)
    found = method.fit(train, val, n_classes=n_classes, context=Context(threads=1))
    assert found.settings["second_stage"] == stage
    assert (found.settings["eta"], found.settings["margin"]) == (0.1, 0.1)
    guesses = found.model.rank(val.X, 1)[0][:, 0]
    right = guesses == val.labels
    assert right[val.labels > 1].mean() > 0.7
    if stage == "delete":
        assert found.settings["deleted"] == 1
        assert not np.isin(guesses, found.settings["deleted_classes"]).any()


def test_classes_put_last_do_not_change_others():
    train, val = make_problem()
    method = WsabieMethod(dim=4, eta=0.1, margin=0.1, epochs=2)
    model = method.fit(train, None, n_classes=6, context=Context(threads=1)).model
    changed = rank_last(model, np.array([2]))
    assert (changed.rank(val.X, 6)[0][:, -1] == 2).all()
    assert rank_last(model, np.zeros(6, np.bool_)) is model


def test_classes_put_last_are_never_first_with_the_linear_discriminant():
    prototypes = np.array([[1.0, 0.2], [3.0, 3.0], [1.0, -0.2], [2.0, 0.0]], np.float32)
    model = EmbeddingModel(np.eye(2, dtype=np.float32), prototypes, discriminant="linear")
    rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.float32)  # all others below 0: first
    changed = rank_last(model, np.array([1]))
    assert (changed.rank(rows, 1)[0] != 1).all()
    np.testing.assert_array_equal(changed.prototypes[[0, 2, 3]], prototypes[[0, 2, 3]])


def test_a_second_stage_does_not_go_with_runs():
    with pytest.raises(InputError, match="second_stage"):
        WsabieMethod(second_stage="delete", runs=2)
