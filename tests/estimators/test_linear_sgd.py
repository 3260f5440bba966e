"""`LinearSGD` as scikit-learn knows estimators, and as a user of many classes would."""

import math
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from myriad import InputError, LinearSGD, WorkError
from myriad.store import ArrayRows
from myriad.training import SGD, Context

STOCHASTIC = "a weight makes a step larger, a repeated row makes two steps, each at its own time"


def expected_failures(estimator):
    names = ("check_sample_weight_equivalence_on_dense_data",)
    names += ("check_sample_weight_equivalence_on_sparse_data",)
    return dict.fromkeys(names, STOCHASTIC)


@parametrize_with_checks(
    [LinearSGD(epochs=20, threads=1)], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_finds_settings_as_good_as_scikit_learns(digits):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD().fit(X_train, y_train)
    peer = SGDClassifier(random_state=0).fit(X_train, y_train)
    # Both vary by about two points with rounding and the version of scikit-learn.
    assert found.score(X_test, y_test) >= peer.score(X_test, y_test) - 0.03
    assert found.score(X_test, y_test) > 0.91
    assert {"eta", "beta", "lam"} <= set(found.settings_)
    assert len(found.search_) > 4
    # The weights are those of the epoch with the best mean of the last three.
    top1 = [row["top1"] for row in found.history_]
    means = [np.mean(top1[max(0, epoch - 2) : epoch + 1]) for epoch in range(len(top1))]
    assert means[found.n_epochs_ - 1] == pytest.approx(max(means))


@pytest.mark.parametrize("objective", ["multiclass", "ranking", "warp", "softmax"])
def test_joint_objectives_find_their_step(digits, objective):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD(objective=objective, patience=15).fit(X_train, y_train)
    assert found.score(X_test, y_test) > 0.92
    assert "beta" not in found.settings_
    assert len(found.search_) == 10


def test_sampled_softmax_finds_its_learning_rate(digits):
    X_train, X_test, y_train, y_test = digits
    options = {"objective": "softmax", "negatives": 4, "scale": False}
    found = LinearSGD(**options, threads=2).fit(X_train, y_train)
    assert found.score(X_test, y_test) > 0.92
    assert len(found.search_) >= 5
    assert found.settings_["negatives"] == 4
    again = LinearSGD(**options, eta=found.settings_["eta"], epochs=3, threads=1)
    assert again.fit(X_train, y_train).settings_["negatives"] == 4


def test_softmax_at_its_optimum_agrees_with_scikit_learn(digits):
    X_train, X_test, y_train, _ = digits
    n, lam = len(X_train), 0.01
    peer = LogisticRegression(C=1 / (lam * n), max_iter=2000, tol=1e-8).fit(X_train, y_train)
    options = {"eta": 0.5, "schedule": "lam", "epochs": 100, "early_stopping": False}
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
    narrow = LinearSGD(epochs=3, memory=3 * 4 * 10 * 64).fit(
        X_train, y_train
    )  # 3 settings per group
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
        ({"objective": "warp", "negatives": 4}, "negatives belongs"),
        ({"objective": "softmax", "negatives": 0}, "negatives must be"),
        ({"objective": "softmax", "negatives": 4, "k": 2}, "negatives"),
        ({"objective": "softmax", "negatives": 4, "batch": 8}, "negatives"),
        ({"schedule": "wild"}, "schedule"),
        ({"schedule": "lam"}, "lam"),
        ({"schedule": "decay", "t0": 0.0}, "t0"),
        ({"objective": "warp", "max_draws": 0}, "max_draws"),
        ({"theta": -1.0}, "theta"),
        ({"theta": "high"}, "theta must be a number"),
        ({"schedule": "decay", "t0": "soon"}, "t0 must be a number"),
        ({"max_norm": "small"}, "max_norm must be a number"),
        ({"objective": "warp", "max_draws": 2.5}, "max_draws must be a whole number"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"epochs": math.inf}, "epochs must be a whole number"),
        ({"memory": -1}, "memory must be a whole number of at least 1"),
        ({"validation_fraction": 2.0}, "validation_fraction must be a fraction"),
        ({"validation_fraction": -0.5}, "validation_fraction must be a fraction"),
        ({"theta": math.nan}, "theta"),
        ({"objective": "warp", "last_violators": -1}, "last_violators"),
        ({"threads": 0}, "threads"),
        ({"random_state": -3}, "random_state"),
    ],
)
def test_wrong_options_are_named(digits, options, message):
    X_train, _, y_train, _ = digits
    with pytest.raises(InputError, match=message):
        LinearSGD(**options).fit(X_train, y_train)


def test_a_step_too_large_is_an_error_not_nan():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), rng.integers(0, 3, 60)
    with pytest.raises(WorkError, match="smaller learning rate"):
        LinearSGD(loss="squared", eta=1e12, beta="all").fit(X, y)


def test_classes_too_small_to_hold_out_still_train():
    X = np.eye(4, dtype=np.float32)
    found = LinearSGD().fit(X, ["a", "b", "c", "d"])
    np.testing.assert_array_equal(found.predict(X), ["a", "b", "c", "d"])


FIXED = {"eta": 0.02, "beta": 8, "scale": False, "epochs": 6, "early_stopping": False}


@pytest.mark.parametrize("kind", ["float16", "float64", "memmap", "csr", "fortran"])
def test_rows_of_every_kind_come_to_the_same_model(digits, kind, tmp_path):
    X_train, X_test, y_train, _ = digits
    X = X_train.astype(np.float32)
    expected = LinearSGD(**FIXED).fit(X, y_train)
    if kind == "memmap":
        np.save(tmp_path / "x.npy", X)
        given = np.load(tmp_path / "x.npy", mmap_mode="r")
    elif kind == "csr":
        given = csr_matrix(X)
    elif kind == "fortran":
        given = np.asfortranarray(X)
    else:
        given = X.astype(kind)  # sixteenths: exact in float16 too
    found = LinearSGD(**FIXED).fit(given, y_train)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    test = csr_matrix(X_test) if kind == "csr" else X_test
    np.testing.assert_array_equal(found.predict(test), expected.predict(X_test))


@pytest.mark.parametrize("objective", ["ovr", "ranking", "warp", "auc"])
def test_several_labels_a_row(digits, objective):
    X_train, X_test, y_train, y_test = digits
    both = [[label, "even" if int(label[-1]) % 2 == 0 else "odd"] for label in y_train]
    found = LinearSGD(objective=objective, epochs=20).fit(X_train, both)
    assert set(found.classes_) == {*y_train, "even", "odd"}
    labels, _ = found.predict_topk(X_test, 2)
    parity = ["even" if int(label[-1]) % 2 == 0 else "odd" for label in y_test]
    right = [p in row or t in row for p, t, row in zip(parity, y_test, labels, strict=True)]
    assert np.mean(right) > 0.9
    classes = sorted(found.classes_)
    matrix = np.array([[c in row for c in classes] for row in both], int)
    same = LinearSGD(objective=objective, epochs=20).fit(X_train, matrix)
    np.testing.assert_array_equal(same.coef_, found.coef_)
    best = found.predict(X_train)
    share = np.mean([label in row for label, row in zip(best, both, strict=True)])
    assert found.score(X_train, both) == pytest.approx(share)
    assert same.score(X_train, matrix) == pytest.approx(share)
    assert same.score(X_train, csr_matrix(matrix)) == pytest.approx(share)


def test_scores_of_several_labels_take_weights_labels_not_known_and_bad_input(digits):
    X_train, _, y_train, _ = digits
    found = LinearSGD(**FIXED).fit(X_train, y_train)
    guesses = found.predict(X_train[:4])
    truths = [[guesses[0], "new"], ["new"], [], [guesses[3]]]
    assert found.score(X_train[:4], truths) == 0.5
    assert found.score(X_train[:4], truths, sample_weight=[3, 1, 0, 0]) == 0.75
    with pytest.raises(InputError, match="4 rows need labels"):
        found.score(X_train[:4], truths[:3])


def test_sparse_labels_are_those_of_the_matrix_and_hold_ones(digits):
    X_train = digits[0][:60]
    matrix = np.random.default_rng(0).integers(0, 2, (60, 4))
    options = FIXED | {"epochs": 1}
    dense = LinearSGD(**options).fit(X_train, matrix)
    sparse = LinearSGD(**options).fit(X_train, csr_matrix(matrix))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    with pytest.raises(InputError, match="0 and 1 only"):
        LinearSGD(**options).fit(X_train, csr_matrix(2 * matrix))


def test_an_objective_for_one_label_refuses_several(digits):
    with pytest.raises(InputError, match="one label per row"):
        LinearSGD(objective="softmax", epochs=2).fit(digits[0][:40], [[0, 1], [1]] * 20)


def test_a_weight_is_as_many_steps_and_no_weight_is_no_row(digits):
    X_train, _, y_train, _ = digits
    weights = np.ones(len(X_train))
    weights[100:] = 0.0
    options = FIXED | {"objective": "multiclass", "beta": "auto"}
    found = LinearSGD(**options).fit(X_train, y_train, sample_weight=weights)
    other = y_train.copy()
    other[100:] = np.roll(other[100:], 1)  # labels of rows that count for nothing
    same = LinearSGD(**options).fit(X_train, other, sample_weight=weights)
    np.testing.assert_array_equal(found.coef_, same.coef_)
    double = LinearSGD(**options).fit(X_train, y_train, sample_weight=2 * weights)
    larger = LinearSGD(**options | {"eta": 0.04}).fit(X_train, y_train, sample_weight=weights)
    np.testing.assert_array_equal(double.coef_, larger.coef_)
    with pytest.raises(InputError, match="weights"):
        LinearSGD(**options).fit(X_train, y_train, sample_weight=-weights)


def test_partial_fit_in_batches_learns_and_takes_new_classes(digits):
    X_train, X_test, y_train, y_test = digits
    few = np.isin(y_train, [f"digit {d}" for d in range(6)])
    for objective in ("ovr", "warp", "softmax"):
        found = LinearSGD(objective=objective)
        for _ in range(5):
            for part in np.array_split(np.flatnonzero(few), 4):
                found.partial_fit(X_train[part], y_train[part])
        assert list(found.classes_[:6]) == [f"digit {d}" for d in range(6)]
        before = found.coef_.copy()
        for _ in range(10):
            found.partial_fit(X_train, y_train)
        assert len(found.classes_) == 10
        assert before.shape == (6, 64)
        assert found.score(X_test, y_test) > 0.9


def test_partial_fit_of_one_batch_is_an_epoch_of_fit(digits):
    X_train, _, y_train, _ = digits
    for objective in ("multiclass", "ovr"):
        options = FIXED | {"objective": objective, "epochs": 3, "center": False}
        options |= {} if objective == "ovr" else {"beta": "auto"}
        whole = LinearSGD(**options).fit(X_train, y_train)
        parts = LinearSGD(**options)
        for _ in range(3):
            parts.partial_fit(X_train, y_train)
        if objective == "multiclass":
            np.testing.assert_array_equal(parts.coef_, whole.coef_)
        assert np.abs(parts.coef_ - whole.coef_).mean() < 0.1 * np.abs(whole.coef_).mean()


def test_warm_start_continues_from_the_weights(digits):
    X_train, _, y_train, _ = digits
    options = FIXED | {"objective": "multiclass", "beta": "auto", "epochs": 1}
    cold = LinearSGD(**options).fit(X_train, y_train)
    warm = LinearSGD(warm_start=True, **options).fit(X_train, y_train)
    np.testing.assert_array_equal(warm.coef_, cold.coef_)
    first = warm.score(X_train, y_train)
    for _ in range(4):
        warm.fit(X_train, y_train)
    assert warm.score(X_train, y_train) > first
    with pytest.raises(InputError, match="warm_start"):
        warm.fit(X_train[:20], ["a", "b"] * 10)


def test_epochs_are_printed(digits, capsys):
    rows = []
    found = LinearSGD(**FIXED | {"early_stopping": True}, refit=False, verbose=True)
    found.set_params(callback=rows.append).fit(digits[0], digits[2])
    assert [row["epoch"] for row in rows] == list(range(1, 7))
    assert rows == found.history_
    assert capsys.readouterr().out.splitlines()[0].startswith("epoch 1, held-out top-1 ")


@pytest.mark.parametrize(
    "options",
    [{"adagrad": "class"}, {"adagrad": "feature"}, {"average": True}, {"max_norm": 2.0}],
)
@pytest.mark.parametrize("objective", ["ovr", "warp"])
def test_conditioning_trains(digits, objective, options):
    X_train, X_test, y_train, y_test = digits
    found = LinearSGD(objective=objective, epochs=20, **options).fit(X_train, y_train)
    assert found.score(X_test, y_test) > 0.9
    assert options.items() <= found.settings_.items()


def test_balanced_draws_help_rare_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), [400] * 2 + [8] * 8)
    X = rng.standard_normal((len(y), 12)) + 1.2 * rng.standard_normal((10, 12))[y]
    options = {"objective": "multiclass", "eta": 0.01, "scale": False, "epochs": 10}
    options |= {"early_stopping": False}
    recalls = []
    for balanced in (False, True):
        found = LinearSGD(balanced=balanced, **options).fit(X, y).predict(X)
        recalls.append(np.mean([(found[y == c] == c).mean() for c in range(10)]))
    assert recalls[1] > recalls[0]
    with pytest.raises(InputError, match="balanced"):
        LinearSGD(balanced=True).fit(X, y)


@pytest.mark.parametrize("beta", [4, "all"])
def test_a_class_without_a_row_comes_last_until_it_has_some(digits, beta):
    X_train, X_test, y_train, y_test = digits
    late = y_train == "digit 7"
    classes = np.unique(y_train)
    found = LinearSGD(eta=0.01, beta=beta)
    for _ in range(5):
        found.partial_fit(X_train[~late], y_train[~late], classes=classes)
    ranked, _ = found.predict_topk(X_test, len(classes))
    assert (ranked[:, -1] == "digit 7").all()
    for _ in range(5):
        found.partial_fit(X_train, y_train)
    assert np.mean(found.predict(X_test)[y_test == "digit 7"] == "digit 7") > 0.8


def test_a_class_without_a_row_does_not_disturb_the_search(digits):
    X_train, X_test, y_train, y_test = digits
    names, labels = np.unique(y_train, return_inverse=True)
    rows = ArrayRows(X_train, labels.astype(np.int32))
    part = rows.select(np.arange(0, len(labels), 2)), rows.select(np.arange(1, len(labels), 2))
    fitted = [
        SGD(epochs=3).fit(*part, n_classes=len(names) + more, context=Context(threads=1))
        for more in (0, 3)
    ]
    best = [max(row["top1"] for row in found.history) for found in fitted]
    assert best[1] > best[0] - 3
    guesses = fitted[1].model.rank(X_test, 1)[0][:, 0]
    assert guesses.max() < len(names)
    assert np.mean(names[guesses] == y_test) > 0.85


def test_an_overflow_names_a_step_that_works(digits):
    X_train, _, y_train, _ = digits
    options = {"beta": 4, "scale": False, "epochs": 2}
    with pytest.raises(WorkError, match="epoch 1 with eta=1e\\+38") as raised:
        LinearSGD(eta=1e38, **options).fit(X_train, y_train)
    named = float(str(raised.value).rstrip(".").rsplit(" ", 1)[1])
    assert LinearSGD(eta=named, **options).fit(X_train, y_train).score(X_train, y_train) > 0.8
