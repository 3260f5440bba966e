"""`LinearSGD` as scikit-learn knows estimators, and as a user of many classes would."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, LinearSGD, WorkError


@parametrize_with_checks([LinearSGD(epochs=20, threads=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {c}" for c in range(10)])
    return train_test_split(X / 16, names[y], random_state=0, stratify=y)


def test_finds_settings_as_good_as_scikit_learns(digits):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD().fit(X_train, y_train)
    peer = SGDClassifier(random_state=0).fit(X_train, y_train)
    assert found.score(X_test, y_test) >= peer.score(X_test, y_test) - 0.01
    assert found.score(X_test, y_test) > 0.93
    assert {"eta", "beta", "lam"} <= set(found.settings_)
    assert len(found.search_) > 4
    assert found.history_[found.n_epochs_ - 1]["top1"] == max(h["top1"] for h in found.history_)


@pytest.mark.parametrize("objective", ["multiclass", "ranking", "warp", "softmax"])
def test_joint_objectives_find_their_step(digits, objective):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD(objective=objective, patience=15).fit(X_train, y_train)
    assert found.score(X_test, y_test) > 0.92
    assert "beta" not in found.settings_
    assert len(found.search_) == 10


def test_softmax_at_its_optimum_agrees_with_scikit_learn(digits):
    X_train, X_test, y_train, _ = digits
    n, lam = len(X_train), 0.01
    peer = LogisticRegression(C=1 / (lam * n), max_iter=2000, tol=1e-8).fit(X_train, y_train)
    options = {"eta": 0.5, "schedule": "lam", "epochs": 300, "early_stopping": False}
    found = LinearSGD(objective="softmax", lam=lam, **options).fit(X_train, y_train)
    assert (found.predict(X_test) == peer.predict(X_test)).mean() > 0.98
    centred = found.coef_ - found.coef_.mean(axis=0)
    assert np.abs(centred - peer.coef_).max() < 0.1 * np.abs(peer.coef_).max()


def test_ranked_labels(digits):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD(eta=0.05, beta=4, epochs=5).fit(X_train, y_train)
    labels, scores = found.predict_topk(X_test, 3)
    assert labels.shape == scores.shape == (len(X_test), 3)
    assert (np.diff(scores, axis=1) <= 0).all()
    np.testing.assert_array_equal(labels[:, 0], found.predict(X_test))
    hits = (labels == y_test[:, None]).any(axis=1).mean()
    assert hits > found.score(X_test, y_test)


def test_same_model_for_a_seed_on_any_number_of_threads(digits):
    X_train, _, y_train, _ = digits
    models = [LinearSGD(epochs=4, threads=threads).fit(X_train, y_train) for threads in (1, 2)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
    other = LinearSGD(epochs=4, random_state=7).fit(X_train, y_train)
    assert other.coef_.tobytes() != models[0].coef_.tobytes()


def test_search_in_little_memory_finds_the_same(digits):
    X_train, _, y_train, _ = digits
    wide = LinearSGD(epochs=3).fit(X_train, y_train)
    narrow = LinearSGD(epochs=3, memory=3 * 4 * 10 * 64).fit(X_train, y_train)  # 3 settings a group
    assert wide.settings_ == narrow.settings_
    assert wide.coef_.tobytes() == narrow.coef_.tobytes()


def test_works_in_scikit_learns_machinery(digits):
    X_train, X_test, y_train, y_test = digits
    steps = make_pipeline(StandardScaler(), LinearSGD(eta=0.01, epochs=3))
    search = GridSearchCV(steps, {"linearsgd__beta": [1, "all"]}, cv=2).fit(X_train, y_train)
    assert search.score(X_test, y_test) > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X_test), search.predict(X_test))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "magic"}, "objective"),
        ({"loss": "cubic"}, "loss"),
        ({"beta": -1}, "beta"),
        ({"beta": "some"}, "beta"),
        ({"eta": 0.0}, "eta"),
        ({"eta": float("nan")}, "eta"),
        ({"lam": -0.1}, "lam"),
        ({"eta": 1.0, "lam": 2.0}, "eta"),
        ({"epochs": 0}, "epochs"),
        ({"objective": "softmax", "beta": 4}, "beta belongs"),
        ({"schedule": "wild"}, "schedule"),
        ({"schedule": "lam"}, "lam"),
        ({"schedule": "decay", "t0": 0.0}, "t0"),
        ({"objective": "warp", "max_draws": 0}, "max_draws"),
        ({"objective": "warp", "last_violators": -1}, "last_violators"),
        ({"threads": 0}, "threads"),
        ({"random_state": -3}, "seed"),
    ],
)
def test_wrong_options_are_named(digits, options, message):
    X_train, _, y_train, _ = digits
    with pytest.raises(InputError, match=message):
        LinearSGD(**options).fit(X_train, y_train)


def test_a_step_too_large_is_an_error_not_nan():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), rng.integers(0, 3, 60)
    with pytest.raises(WorkError, match="smaller step"):
        LinearSGD(loss="squared", eta=1e12, beta="all").fit(X, y)


def test_classes_too_small_to_hold_out_still_train():
    X = np.eye(4, dtype=np.float32)
    found = LinearSGD().fit(X, ["a", "b", "c", "d"])
    np.testing.assert_array_equal(found.predict(X), ["a", "b", "c", "d"])
