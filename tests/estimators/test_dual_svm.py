"""`DualSVM` as scikit-learn knows estimators, and against LIBLINEAR."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import DualSVM, InputError


@parametrize_with_checks([DualSVM(lam=0.01, threads=1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {c}" for c in range(10)])
    return train_test_split(
        (X / 16).astype(np.float32).astype(np.float64), names[y], random_state=0, stratify=y
    )


def objectives(X, y, W, b, lam, weights, squared):
    Z = np.where(y[:, None] == np.arange(len(W)), 1.0, -1.0)
    losses = np.maximum(0, 1 - Z * (X @ W.T + b)) ** (2 if squared else 1)
    counted = np.where(Z > 0, weights, 1.0) * losses
    return lam / 2 * ((W**2).sum(axis=1) + b**2) + counted.mean(axis=0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_liblinear(digits, loss, weighted):
    X, _, names, _ = digits
    classes, y = np.unique(names, return_inverse=True)
    lam, weights = 0.01, np.linspace(1, 4, 10) if weighted else np.ones(10)
    peer_weights = dict(enumerate(weights.tolist()))
    options = {"C": 1 / (lam * len(X)), "loss": loss, "tol": 1e-7, "max_iter": 200_000}
    peer = LinearSVC(class_weight=peer_weights, dual=True, random_state=0, **options).fit(X, y)
    squared = loss == "squared_hinge"
    expected = objectives(X, y, peer.coef_, peer.intercept_, lam, weights, squared)
    class_weight = dict(zip(classes, weights, strict=True)) if weighted else None
    given = {"loss": loss, "lam": lam, "bias": 1, "class_weight": class_weight}
    found = DualSVM(center=False, tol=1e-4, max_epochs=2000, **given)
    found.fit(X, names)
    assert (found.gaps_ <= 1e-4).all()
    W, b = found.coef_.astype(float), found.intercept_.astype(float)
    own = objectives(X, y, W, b, lam, weights, squared)
    assert found.primal_ == pytest.approx(own.sum(), rel=1e-5)
    np.testing.assert_allclose(own, expected, rtol=2e-4)


def test_beta_lifts_rare_classes(digits):
    X, X_test, y, y_test = digits
    kept = (y != "digit 3") | (np.cumsum(y == "digit 3") <= 4)
    rare = y_test == "digit 3"
    plain = DualSVM(lam=0.1).fit(X[kept], y[kept])
    lifted = DualSVM(lam=0.1, beta=4).fit(X[kept], y[kept])
    assert lifted.score(X_test[rare], y_test[rare]) > plain.score(X_test[rare], y_test[rare])


def test_searches_lam(digits):
    X, X_test, y, y_test = digits
    found = DualSVM().fit(X, y)
    assert found.score(X_test, y_test) > 0.93
    assert len(found.search_) > 3
    assert found.gaps_.shape == (10,)
    assert found.gap_ == found.gaps_.max() == pytest.approx(found.settings_["gap"], rel=1e-5)


def test_same_model_on_any_number_of_threads(digits):
    X, _, y, _ = digits
    models = [DualSVM(lam=0.01, threads=threads).fit(X, y) for threads in (1, 2)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logistic"}, "loss"),
        ({"lam": 0}, "lam"),
        ({"beta": 0}, "beta"),
        ({"beta": "some"}, "beta"),
        ({"class_weight": "heavy"}, "class_weight"),
        ({"class_weight": {"digit 1": -1.0}}, "above 0"),
        ({"tol": 2.0}, "tol"),
    ],
)
def test_wrong_options_are_named(digits, options, message):
    X, _, y, _ = digits
    with pytest.raises(InputError, match=message):
        DualSVM(**options).fit(X, y)


def test_training_that_ends_before_its_tolerance_warns():
    X = np.random.default_rng(0).standard_normal((90, 5)).astype(np.float32)
    with pytest.warns(ConvergenceWarning, match="ended after 1 epochs with a relative duality gap"):
        DualSVM(max_epochs=1).fit(X, np.arange(90) % 3)


def test_the_scale_of_the_rows_does_not_matter(digits):
    X, _, names, _ = digits
    few = np.random.default_rng(0).permutation(len(X))[:200]
    small, large = (DualSVM(threads=1).fit(scale * X[few], names[few]) for scale in (1, 64))
    assert large.settings_["bias"] == pytest.approx(64 * small.settings_["bias"], rel=0.01)
    assert np.mean(small.predict(X) == large.predict(64 * X)) > 0.99
