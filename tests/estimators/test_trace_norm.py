"""`TraceNormClassifier` as scikit-learn knows estimators, and as a user would."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, TraceNormClassifier
from myriad.models import ModelFolder, load_model, save_model

ROUNDED = "BLAS may round products in float32 differently in the last rows of a matrix"


@parametrize_with_checks(
    [TraceNormClassifier(threads=1)],
    expected_failed_checks=lambda estimator: {"check_methods_sample_order_invariance": ROUNDED},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_order_of_rows_does_not_matter_beyond_rounding(digits):
    X, _, y, _ = digits
    model = TraceNormClassifier(lam=1e-3, threads=1).fit(X[:200], y[:200])
    order = np.random.default_rng(0).permutation(len(X))
    found, expected = model.decision_function(X[order]), model.decision_function(X)[order]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_path_finds_a_good_model_of_low_rank(digits):
    X_train, X_test, y_train, y_test = digits
    found = TraceNormClassifier(threads=1).fit(X_train, y_train)
    assert found.score(X_test, y_test) > 0.93
    assert found.rank_ <= 9
    assert 0 <= found.bound_ <= 0.01 * found.settings_["value"]
    assert {"lam", "rank", "top1"} <= set(found.search_[0]) <= {"lam", "relax", "rank", "top1"}
    assert found.coef_.shape == (10, 64)
    assert np.linalg.matrix_rank(found.coef_) == found.rank_
    latents = found.embed(X_test)
    assert latents.shape == (len(X_test), found.rank_)
    np.testing.assert_allclose(
        X_test @ found.coef_.T + found.intercept_, found.decision_function(X_test), atol=1e-4
    )


@pytest.mark.parametrize("gauge", ["l1", "l1_l2"])
def test_other_gauges_choose_features(digits, gauge):
    X_train, X_test, y_train, y_test = digits
    found = TraceNormClassifier(gauge=gauge, lam=0.01, threads=1).fit(X_train, y_train)
    used = np.flatnonzero(found.coef_.any(axis=0))
    np.testing.assert_array_equal(found.model_.features, used)
    assert 5 < len(used) < 50
    assert found.score(X_test, y_test) > 0.8


def test_sparse_rows_give_the_same_model(digits):
    X_train, _, y_train, _ = digits
    dense, sparse = (
        TraceNormClassifier(lam=0.05, threads=1).fit(X, y_train)
        for X in (X_train, csr_matrix(X_train))
    )
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-5)


@pytest.mark.parametrize("gauge", ["trace", "l1_l2"])
@pytest.mark.parametrize("lam", [0.02, 1000.0])
def test_is_saved_and_loaded(digits, gauge, lam, tmp_path):
    X_train, X_test, y_train, _ = digits
    found = TraceNormClassifier(gauge=gauge, lam=lam, threads=1).fit(X_train, y_train)
    names = found.classes_.tolist()
    save_model(tmp_path, ModelFolder(found.model_, names, None, found.settings_), card="")
    loaded = load_model(tmp_path).model
    X = X_test.astype(np.float32)
    np.testing.assert_array_equal(loaded.scores(X), found.model_.scores(X))


@pytest.mark.parametrize("options", [{"lam": 0}, {"lam": "much"}, {"relax": 2}, {"gauge": "l2"}])
def test_bad_options(options):
    with pytest.raises(InputError):
        TraceNormClassifier(**options).fit(np.eye(4), [0, 1, 0, 1])
