"""`NearestMeans` as scikit-learn knows estimators, and against its `NearestCentroid`."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, NearestMeans


@parametrize_with_checks([NearestMeans(threads=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)  # no ties, no constant feature
    return X, np.array([f"digit {c}" for c in y])


def test_agrees_with_scikit_learn(digits):
    X, y = digits
    found = NearestMeans().fit(X[:1000], y[:1000])
    peer = NearestCentroid().fit(X[:1000], y[:1000])
    np.testing.assert_array_equal(found.predict(X), peer.predict(X))
    np.testing.assert_array_equal(found.class_count_, np.unique(y[:1000], return_counts=True)[1])
    labels, scores = found.predict_topk(X[:5], 3)
    assert labels.shape == scores.shape == (5, 3)


def test_probabilities_by_default(digits):
    X, y = digits
    found = NearestMeans(threads=1).fit(X, y)
    plain = NearestMeans(threads=1, calibration="none").fit(X, y)
    np.testing.assert_allclose(found.model_.weights, plain.model_.weights, rtol=1e-5, atol=1e-5)
    assert found.class_count_.sum() == len(X)
    P = found.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(found.classes_[P.argmax(axis=1)], found.predict(X))


def test_partial_fit_is_fit_on_all_rows_so_far(digits):
    X, y = digits
    whole = NearestMeans().fit(X, y)
    parts = NearestMeans().partial_fit(X[:300], y[:300], classes=np.unique(y))
    after = NearestMeans().fit(X[:300], y[:300])
    for model in (parts, pickle.loads(pickle.dumps(after))):
        model.partial_fit(X[300:1000], y[300:1000])
        model.partial_fit(X[1000:], y[1000:], classes=np.unique(y))
        assert model.coef_.tobytes() == whole.coef_.tobytes()
        assert model.intercept_.tobytes() == whole.intercept_.tobytes()


def test_partial_fit_names_what_is_wrong(digits):
    X, y = digits
    with pytest.raises(InputError, match="state all classes"):
        NearestMeans().partial_fit(X, y)
    model = NearestMeans().partial_fit(X, y, classes=[*np.unique(y), "letter"])
    with pytest.raises(InputError, match="'word'"):
        model.partial_fit(X[:2], ["digit 1", "word"])
    with pytest.raises(InputError, match="differ"):
        model.partial_fit(X[:2], y[:2], classes=["word"])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:2, :3], y[:2])
    assert "letter" not in model.predict(X)
    assert (model.predict_topk(X, 11)[0][:, -1] == "letter").all()


@pytest.mark.parametrize("labels", [[[0, "a"], [1]], [[np.nan], [1]], [["a"], [0, 1]]])
def test_lists_of_unlike_labels_are_refused(labels):
    with pytest.raises(InputError, match="all numbers or all text"):
        NearestMeans(threads=1).fit([[0.0], [1.0]], labels)


def test_partial_fit_needs_classes_and_one_label_a_row():
    X = [[0.0], [1.0]]
    with pytest.raises(InputError, match="must state all classes"):
        NearestMeans().partial_fit(X, [0, 1], classes=[])
    with pytest.raises(InputError, match="one label per row"):
        NearestMeans().partial_fit(X, [[0], [1, 0]], classes=[0, 1])
