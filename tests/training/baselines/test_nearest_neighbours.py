"""Nearest neighbours against scikit-learn's, and wrong numbers of voters."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from myriad.errors import InputError
from myriad.models.neighbours import NeighboursModel
from myriad.serialisation import flatten, restore
from myriad.store import ArrayRows
from myriad.training import METHODS, make_method


def make_rows(n, seed):
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).standard_normal((6, 5))
    labels = rng.integers(0, 6, n).astype(np.int32)
    X = (means[labels] + rng.standard_normal((n, 5))).astype(np.float32)
    return ArrayRows(X, labels, list("abcdef"))


def test_votes_are_those_of_scikit_learn():
    train, val = make_rows(300, 0), make_rows(100, 1)
    fitted = make_method(METHODS, "knn").fit(train, val, n_classes=6, threads=1)
    assert [row["k"] for row in fitted.table] == [1, 3, 5, 9]
    best = max(fitted.table, key=lambda row: (row["top1"], row["top5"]))
    assert fitted.settings == {"k": best["k"]}
    for k in (1, 5):
        model = make_method(METHODS, "knn", k=k).fit(train, None, n_classes=6).model
        peer = KNeighborsClassifier(k, algorithm="brute").fit(train.X, train.labels)
        votes = peer.predict_proba(val.X) * k
        np.testing.assert_array_equal(np.floor(model.scores(val.X) + 1e-6), votes.round())
        assert (model.rank(val.X, 1)[0][:, 0] == peer.predict(val.X)).mean() >= 0.9


def test_the_nearest_decides_between_equals():
    rows = np.array([[0.0], [1.0], [10.0]], np.float32)
    model = NeighboursModel(rows, np.array([2, 0, 1], np.int32), 3, k=2)
    assert model.rank(np.array([[0.1]], np.float32), 1)[0].tolist() == [[2]]
    again = restore(*flatten(model))
    np.testing.assert_array_equal(again.scores(rows), model.scores(rows))


@pytest.mark.parametrize("k", [0, 1000, "many", 2.5])
def test_wrong_numbers_of_voters(k):
    with pytest.raises(InputError, match="k"):
        make_method(METHODS, "knn", k=k).fit(make_rows(30, 0), None, n_classes=6)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": None},
        {"rows": np.zeros((3, 2))},
        {"labels": np.array([0, 1], np.int32)},
        {"labels": np.array([0, 1, 5], np.int32)},
        {"labels": np.array([0, 1, 1])},
        {"count": "two"},
        {"k": 4},
    ],
)
def test_fields_that_do_not_fit(change):
    labels = np.array([0, 1, 1], np.int32)
    fields = {"rows": np.zeros((3, 2), np.float32), "labels": labels, "count": 2, "k": 1}
    with pytest.raises(InputError):
        NeighboursModel(**(fields | change))


def test_rows_at_an_infinite_distance_have_no_votes():
    rows, labels = np.array([[1.0], [2.0]], np.float32), np.array([0, 1], np.int32)
    votes = NeighboursModel(rows, labels, 3, k=1).scores(np.array([[3e38], [1.9]], np.float32))
    assert not votes[0].any()
    assert votes[1].argmax() == 1
