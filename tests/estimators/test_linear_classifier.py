"""Tests of `LinearClassifier`, beyond what all estimators have in common."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from myriad import InputError, LinearClassifier
from myriad.training.automatic import subsampling


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X.astype(np.float32), y, test_size=0.5, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def fitted(digits):
    X, _, y, _ = digits
    return LinearClassifier().fit(X, y)


def test_it_is_about_as_good_as_the_best_linear_models(digits, fitted):
    _, X_test, _, y_test = digits
    assert fitted.score(X_test, y_test) > 0.94
    assert fitted.objective_ in ("softmax", "dual")
    assert fitted.coef_.shape == (10, 64)
    assert fitted.intercept_.shape == (10,)


def test_the_model_is_for_rows_as_they_are(digits, fitted):
    _, X_test, _, _ = digits
    scores = X_test @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(fitted.decision_function(X_test), scores, rtol=1e-4, atol=1e-3)


def test_a_shift_of_all_rows_changes_little(digits, fitted):
    X, X_test, y, _ = digits
    shifted = LinearClassifier().fit(X + 100, y)
    same = shifted.predict(X_test + 100) == fitted.predict(X_test)
    assert same.mean() > 0.98


def test_probabilities_are_those_of_the_final_model_where_few_rows_are_searched(
    digits, monkeypatch
):
    monkeypatch.setattr(subsampling, "SEARCH_FLOPS", 0.0)
    monkeypatch.setattr(subsampling, "LEAST_ROWS", 200)
    X, X_test, y, y_test = digits
    model = LinearClassifier(search="quick").fit(X, y)
    assert model.calibration_.source == "validation"
    confidence = model.predict_proba(X_test).max(axis=1)
    assert abs(confidence.mean() - model.score(X_test, y_test)) < 0.04


def test_sparse_rows(digits, fitted):
    X, X_test, y, _ = digits
    sparse = LinearClassifier().fit(csr_matrix(X), y)
    assert (sparse.predict(csr_matrix(X_test)) == fitted.predict(X_test)).mean() > 0.98


def test_groups_are_held_out_together(digits):
    X, _, y, _ = digits
    groups = np.arange(len(y)) // 4
    model = LinearClassifier(search="quick").fit(X, y, groups=groups)
    assert model.settings_["cross_validation"]["folds"] == 1
    with pytest.raises(InputError, match="as many groups"):
        LinearClassifier().fit(X, y, groups=groups[1:])


def test_several_labels_a_row(digits):
    X, _, y, _ = digits
    sets = [[label, 10] if label % 2 else [label] for label in y.tolist()]
    model = LinearClassifier().fit(X, sets)
    assert model.objective_ == "ovr"
    assert model.score(X, sets) > 0.9


def test_search_must_be_known(digits):
    X, _, y, _ = digits
    with pytest.raises(InputError, match="search"):
        LinearClassifier(search="endless").fit(X, y)


def test_one_row_a_class_warns_that_settings_are_the_default():
    draws = np.random.default_rng(0)
    y = np.arange(20)
    X = (draws.standard_normal((20, 6)) + 4 * np.eye(20, 6)).astype(np.float32)
    with pytest.warns(UserWarning, match="default settings") as found:
        model = LinearClassifier().fit(X, y)
    assert model.score(X, y) > 0.5
    assert len(found) == 1
    assert found[0].filename == __file__


@pytest.mark.parametrize(("n_groups", "folds"), [(2, 2), (1, None)])
def test_few_groups_make_as_many_folds(n_groups, folds):
    draws = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = draws.standard_normal((60, 5)).astype(np.float32) + 2 * y[:, None]
    expected = pytest.warns(UserWarning, match="groups") if folds is None else nullcontext()
    with expected:
        model = LinearClassifier().fit(X, y, groups=np.arange(60) // (60 // n_groups))
    assert model.score(X, y) > 0.8
    assert model.settings_.get("cross_validation", {}).get("folds") == folds


def test_missing_labels_of_a_data_frame_are_counted():
    class Column(list):
        """A column as pandas has them."""

        def isna(self):
            return np.array([label is None for label in self])

    with pytest.raises(InputError, match="1 of 3 labels are missing"):
        LinearClassifier().fit(np.eye(3), Column(["a", "b", None]))


@pytest.mark.parametrize("scale", [1e-12, 1e7, 1e12])
def test_the_scale_of_the_rows_does_not_matter(scale):
    draws = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = draws.standard_normal((60, 5)) + 3 * y[:, None]
    assert LinearClassifier().fit(scale * X, y).score(scale * X, y) > 0.9


def test_a_row_that_is_far_larger_than_all_others_leaves_other_candidates():
    draws = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = draws.standard_normal((60, 300)).astype(np.float32) + 2 * y[:, None]
    X[0] *= 1e7
    assert LinearClassifier().fit(X, y).score(X[1:], y[1:]) > 0.5


def as_objects(*values):
    return np.array(values, object)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (as_objects("a", None, "b"), "1 of 3 labels are missing"),
        (as_objects(None, 1, np.nan), "2 of 3 labels are missing"),
        (as_objects(1, "a", 2.5), "all numbers or all text, but their types are float, int, str"),
        (as_objects(1, 2, (3,)), "all numbers or all text"),
    ],
)
def test_objects_as_labels_must_be_of_one_kind(y, message):
    with pytest.raises(InputError, match=message):
        LinearClassifier().fit(np.eye(3), y)


@pytest.mark.filterwarnings("ignore:No class has two rows")
def test_numbers_in_an_array_of_objects_are_labels():
    y = as_objects(7, 8, np.int64(9))
    model = LinearClassifier().fit(10 * np.eye(3), y)
    assert model.score(10 * np.eye(3), y) == 1
    assert model.classes_.dtype.kind == "i"
    assert model.predict(10 * np.eye(3)).tolist() == [7, 8, 9]


def test_rows_without_a_group_are_groups_of_their_own():
    draws = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = draws.standard_normal((60, 5)).astype(np.float32) + 2 * y[:, None]
    for missing in (None, np.nan):
        model = LinearClassifier().fit(X, y, groups=as_objects(*[missing, "a", missing] * 20))
        assert model.settings_["cross_validation"]["folds"] == 3
    with pytest.raises(InputError, match="Groups must be all numbers or all text"):
        LinearClassifier().fit(X, y, groups=as_objects(*[1, "a"] * 30))


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_not_features(kind):
    class Frame:
        """A data frame as pandas has them."""

        dtypes = (np.dtype(float), np.dtype(kind))

    model = LinearClassifier().fit(np.eye(6), [0, 1] * 3)
    for X in (np.zeros((6, 2), kind), Frame()):
        with pytest.raises(InputError, match="there are dates"):
            LinearClassifier().fit(X, [0, 1] * 3)
        with pytest.raises(InputError, match="there are dates"):
            model.predict(X)
