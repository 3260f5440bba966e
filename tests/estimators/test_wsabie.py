"""`Wsabie` as scikit-learn knows estimators, and as a user of many classes would."""

import pickle

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, WorkError, Wsabie


@parametrize_with_checks([Wsabie(epochs=20, threads=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def found(digits):
    X_train, _, y_train, _ = digits
    return Wsabie(dim=16, epochs=15, threads=1).fit(X_train, y_train)


def test_learns_better_than_the_means(digits, found):
    X_train, X_test, y_train, y_test = digits
    means = np.stack([X_train[y_train == name].mean(axis=0) for name in found.classes_])
    apart = ((X_test[:, None] - means) ** 2).sum(axis=2)
    by_means = (found.classes_[apart.argmin(axis=1)] == y_test).mean()
    assert found.score(X_test, y_test) > by_means + 0.02
    assert found.score(X_test, y_test) > 0.93
    assert found.model_.map.shape == (16, 64)
    assert len(found.search_) == 9
    assert {"dim", "eta", "margin", "last_violators"} <= set(found.settings_)
    # The weights are those of the epoch with the best mean of the last three.
    top1 = [row["top1"] for row in found.history_]
    means = [np.mean(top1[max(0, epoch - 2) : epoch + 1]) for epoch in range(len(top1))]
    assert means[found.n_epochs_ - 1] == pytest.approx(max(means))
    assert {"draws", "steps", "passed"} <= set(found.history_[-1])


FORMS = [
    {"discriminant": "linear", "rank_weight": True, "last_violators": 0, "adagrad": False,
     "max_norm": 1.0},
    {"adagrad": "count"},
    {"sampling": "auc", "last_violators": 0},
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_learn_too(digits, form):
    X_train, X_test, y_train, y_test = digits
    other = Wsabie(dim=16, epochs=15, threads=1, refit=False, **form).fit(X_train, y_train)
    assert other.score(X_test, y_test) > 0.85


def test_an_ensemble_adds_the_scores_of_its_members(digits):
    X_train, X_test, y_train, y_test = digits
    options = {"dim": 4, "eta": 0.1, "margin": 0.03, "epochs": 5, "early_stopping": False}
    one = Wsabie(**options).fit(X_train, y_train)
    three = Wsabie(ensemble=3, **options).fit(X_train, y_train)
    assert three.model_.prototypes.shape == (10, 12)
    np.testing.assert_array_equal(three.model_.prototypes[:, :4], one.model_.prototypes)
    assert three.score(X_test, y_test) > one.score(X_test, y_test)


def test_same_model_on_any_number_of_threads(digits):
    X_train, _, y_train, _ = digits
    models = [Wsabie(dim=8, epochs=3, threads=n).fit(X_train, y_train).model_ for n in (1, 2)]
    assert models[0].prototypes.tobytes() == models[1].prototypes.tobytes()
    assert models[0].map.tobytes() == models[1].map.tobytes()


def test_passes_one_at_a_time_learn_too(digits):
    X_train, X_test, y_train, y_test = digits
    batch = Wsabie(dim=16, threads=1)
    for _ in range(8):
        for part in np.array_split(np.arange(len(X_train)), 3):
            batch.partial_fit(X_train[part], y_train[part], classes=np.unique(y_train))
    assert batch.score(X_test, y_test) > 0.9
    with pytest.raises(InputError, match="not among the classes"):
        batch.partial_fit(X_train[:1], ["digit 11"])
    assert batch.partial_fit(X_train, y_train).n_epochs_ == 25


def test_partial_fit_continues_from_a_fit(digits, found):
    X_train, X_test, y_train, y_test = digits
    more = pickle.loads(pickle.dumps(found)).partial_fit(X_train, y_train)
    assert not np.array_equal(more.model_.prototypes, found.model_.prototypes)
    assert more.score(X_test, y_test) > 0.9
    twins = Wsabie(dim=4, ensemble=2, eta=0.1, margin=0.03, epochs=1).fit(X_train, y_train)
    with pytest.raises(InputError, match="ensemble"):
        twins.partial_fit(X_train, y_train)


def test_a_class_without_rows_is_ranked_last_until_it_has_some(digits):
    X, _, y, _ = digits
    some = y != "digit 7"
    found = Wsabie(dim=4, threads=1).partial_fit(X[some], y[some], classes=np.unique(y))
    assert (found.predict_topk(X, 10)[0][:, -1] == "digit 7").all()
    for _ in range(5):
        found.partial_fit(X, y)
    assert "digit 7" in found.predict(X[~some])


def test_neighbours_are_the_nearest_prototypes(found):
    P = found.model_.prototypes
    peer = NearestNeighbors(n_neighbors=4).fit(P)
    distances, numbers = peer.kneighbors(P[3:4])
    labels, near = found.neighbours("digit 3", 3)
    assert labels.tolist() == found.classes_[numbers[0, 1:]].tolist()
    np.testing.assert_allclose(near, distances[0, 1:], rtol=1e-5)
    assert len(found.neighbours("digit 3", 50)[0]) == 9
    with pytest.raises(InputError, match="not one of the classes"):
        found.neighbours("letter")
    with pytest.raises(InputError, match="k must"):
        found.neighbours("digit 3", 0)


def test_survives_pickling(digits, found):
    X_test = digits[1]
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X_test), found.predict(X_test))


def test_rows_of_all_labels_teach_nothing_and_say_so():
    with pytest.raises(InputError, match="No row can be trained on"):
        Wsabie(dim=2).fit(np.eye(6, 4), np.ones((6, 3), int))


def test_a_step_that_diverges_is_an_error_and_no_warning(digits):
    X_train, _, y_train, _ = digits
    with pytest.raises(WorkError, match="overflowed in epoch 1"):
        Wsabie(dim=8, eta=1e6, margin=0.03, adagrad=False).fit(X_train, y_train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 65}, "64 features"),
        ({"dim": 0}, "dim"),
        ({"dim": "wide"}, "dim"),
        ({"dim": 2.5}, "dim"),
        ({"margin": 0.0}, "margin"),
        ({"margin": -1.0}, "margin"),
        ({"eta": float("nan")}, "eta"),
        ({"ensemble": 0}, "ensemble"),
        ({"last_violators": -1}, "last_violators"),
        ({"index": "tree"}, "index"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_wrong_options_are_named(digits, options, message):
    X_train, _, y_train, _ = digits
    with pytest.raises(InputError, match=message):
        Wsabie(**options).fit(X_train, y_train)


def test_more_last_violators_than_classes_are_all_of_them(digits):
    X_train, _, y_train, _ = digits
    options = {"dim": 4, "eta": 0.1, "margin": 0.03, "epochs": 2, "early_stopping": False}
    many = Wsabie(last_violators=10_000, **options).fit(X_train, y_train)
    all_of_them = Wsabie(last_violators=10, **options).fit(X_train, y_train)
    assert many.model_.prototypes.tobytes() == all_of_them.model_.prototypes.tobytes()


def test_a_step_too_large_is_an_error_not_nan(digits):
    X_train, _, y_train, _ = digits
    with pytest.raises(WorkError, match="smaller learning rate"):
        Wsabie(eta=1e30, margin=1.0, adagrad=False).fit(X_train, y_train)


def test_several_labels_a_row():
    rng = np.random.default_rng(0)
    y = rng.random((600, 8)) < 0.25
    X = y @ rng.standard_normal((8, 20)) + 0.1 * rng.standard_normal((600, 20))
    found = Wsabie(dim=10, epochs=20, threads=1).fit(X[:500], y[:500].astype(int))
    some = y[500:].any(axis=1)
    best = found.predict(X[500:])
    assert np.mean(y[500:][some, best[some]]) > 0.9
    with pytest.raises(InputError, match="classes"):
        found.partial_fit(X[:4], [[99], [0], [1], [2]])
