"""`TopKSVM` as scikit-learn knows estimators, against its peers, and with kernels."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, TopKSVM


@parametrize_with_checks([TopKSVM(lam=0.01, threads=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def objective(X, y, W, lam):
    """The objective of Crammer and Singer."""
    S = X @ W.T
    truth = S[np.arange(len(y)), y]
    margins = 1 + S - truth[:, None]
    margins[np.arange(len(y)), y] = 0
    return lam / 2 * (W**2).sum() + margins.max(axis=1).mean()


def test_agrees_with_crammer_and_singer(digits):
    X, _, names, _ = digits
    X = X.astype(np.float32).astype(np.float64)
    y, lam = np.unique(names, return_inverse=True)[1], 0.1
    peer = LinearSVC(
        multi_class="crammer_singer", C=1 / (lam * len(X)), fit_intercept=False, tol=1e-6,
        max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    best = objective(X, y, peer.coef_, lam)
    found = TopKSVM(center=False, lam=lam, tol=1e-6, max_epochs=3000).fit(X, names)
    assert found.gap_ <= 1e-6
    assert abs(objective(X, y, found.coef_.astype(np.float64), lam) / best - 1) < 1e-5
    assert found.primal_ == pytest.approx(best, rel=1e-5)
    assert found.dual_ <= best * (1 + 1e-9)


@pytest.mark.parametrize("variant", ["alpha", "beta"])
def test_searches_lam_and_ranks(digits, variant):
    X_train, X_test, y_train, y_test = digits
    found = TopKSVM(k=3, variant=variant, max_epochs=100).fit(X_train, y_train)
    assert found.settings_["k"] == 3
    assert found.settings_["variant"] == variant
    assert found.settings_["gap"] == pytest.approx(found.gap_, rel=1e-5)
    assert len(found.search_) > 3
    assert found.history_[-1]["gap"] < found.history_[0]["gap"]
    labels, _ = found.predict_topk(X_test, 3)
    assert (labels == y_test[:, None]).any(axis=1).mean() > 0.98


def test_same_model_on_any_number_of_threads(digits):
    X, _, y, _ = digits
    models = [TopKSVM(k=2, lam=0.01, threads=threads).fit(X, y) for threads in (1, 2)]
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()
    assert models[0].gap_ == models[1].gap_


def test_a_linear_kernel_is_no_kernel(digits):
    X_train, X_test, y_train, _ = digits
    X_train, y_train = X_train[:400], y_train[:400]
    options = {"k": 2, "lam": 0.01, "tol": 1e-6, "max_epochs": 2000}
    plain = TopKSVM(center=False, **options).fit(X_train, y_train)
    kernel = TopKSVM(kernel="precomputed", **options).fit(X_train @ X_train.T, y_train)
    function = TopKSVM(kernel=lambda a, b: a @ b.T, **options).fit(X_train, y_train)
    assert max(found.gap_ for found in (plain, kernel, function)) <= 1e-6
    assert kernel.primal_ == pytest.approx(plain.primal_, rel=2e-6)
    np.testing.assert_allclose(
        kernel.decision_function(X_test @ X_train.T), plain.decision_function(X_test), atol=5e-3
    )
    np.testing.assert_array_equal(function.predict(X_test), kernel.predict(X_test @ X_train.T))


def test_a_curved_kernel_does_better(digits):
    X_train, X_test, y_train, y_test = digits
    plain = TopKSVM(lam=0.01).fit(X_train, y_train)
    curved = TopKSVM(lam=0.01, kernel=lambda a, b: polynomial_kernel(a, b, gamma=0.1))
    curved.fit(X_train, y_train)
    assert curved.gap_ <= 1e-3
    assert curved.score(X_test, y_test) > plain.score(X_test, y_test)


def test_stops_at_its_time_with_the_gap_it_has(digits):
    X, _, y, _ = digits
    with pytest.warns(ConvergenceWarning, match="above tol=0.0001"):
        found = TopKSVM(lam=1e-5, tol=1e-4, max_seconds=1e-9).fit(X, y)
    assert found.n_epochs_ <= 5
    assert found.gap_ > 1e-4
    assert found.gap_ == found.history_[-1]["gap"]


def test_rows_of_zeros_and_twins_of_other_labels():
    X = np.repeat(np.eye(4), 3, axis=0)
    X[9:] = 0.0
    y = np.array([0, 1, 2] * 4)  # each row three times, with different labels
    found = TopKSVM(k=1, lam=0.1, tol=1e-6).fit(X, y)
    assert found.gap_ <= 1e-6
    two = TopKSVM(k=2, lam=0.1, tol=1e-6, variant="beta").fit(X, y)
    assert two.gap_ <= 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"k": 10}, "at most 9"),
        ({"variant": "gamma"}, "variant"),
        ({"lam": 0.0}, "lam"),
        ({"lam": -1.0}, "lam"),
        ({"lam": float("nan")}, "lam"),
        ({"lam": "much"}, "lam"),
        ({"tol": 0.0}, "tol"),
        ({"max_epochs": 0}, "epochs"),
        ({"max_seconds": -1.0}, "seconds"),
        ({"bias": -1.0}, "bias"),
        ({"kernel": "precomputed"}, "lam"),
        ({"kernel": "cubic", "lam": 1.0}, "kernel"),
        ({"kernel": "precomputed", "lam": 1.0}, "square"),
    ],
)
def test_wrong_options_are_named(digits, options, message):
    X, _, y, _ = digits
    with pytest.raises(InputError, match=message):
        TopKSVM(**options).fit(X, y)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda K: np.triu(K), "symmetric"),
        (lambda K: K - 2 * np.eye(len(K)) * K.max(), "negative"),
    ],
)
def test_a_matrix_that_is_no_gram_matrix(digits, damage, message):
    X, y = digits[0][:50], digits[2][:50]
    with pytest.raises(InputError, match=message):
        TopKSVM(kernel="precomputed", lam=0.1).fit(damage(X @ X.T), y)
