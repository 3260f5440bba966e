"""Rows that calibrate are not rows that train; every method is calibrated."""

import numpy as np
import pytest

import myriad
from myriad.errors import InputError
from myriad.models import HeldScores
from myriad.progress import SILENT
from myriad.store import ArrayRows
from myriad.training import METHODS, SGD, Means, make_method
from myriad.training.calibrating import add_calibration, split_calibration_rows
from tests.models.folders import draw_rows

X, LABELS = draw_rows(500, 5, 6, seed=3)
QUICK = {"eta": 0.1, "epochs": 2, "lam": 1e-2, "search": "quick"}


@pytest.mark.parametrize("objective", METHODS)
def test_every_method_is_calibrated(objective):
    known = METHODS[objective].command_options(objective)
    method = make_method(
        METHODS, objective, **{name: value for name, value in QUICK.items() if name in known}
    )
    train, val = ArrayRows(X[:300], LABELS[:300]), ArrayRows(X[300:], LABELS[300:])
    fitted = method.fit(train, val, n_classes=5)
    fitted = add_calibration(fitted, method, train, val, None, SILENT)
    found = fitted.calibration
    assert found.source in ("validation", "cross-fitted")
    assert found.novelty is not None
    assert found.confidence.min() > 0.15
    # What is said of the best class is about as often right.
    assert abs(found.confidence.mean() - (found.ranks == 1).mean()) < 0.1


def test_rows_held_out_for_calibration_are_drawn_without_regard_to_classes():
    rows = ArrayRows(X, LABELS)
    kept, back = split_calibration_rows(rows, Means(calibration="split", seed=4))
    assert (kept.n_rows, back.n_rows) == (400, 100)
    together = np.concatenate([kept.read(range(400)), back.read(range(100))])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(X, axis=0))
    assert split_calibration_rows(rows, Means())[1] is None
    with pytest.raises(InputError, match="too few"):
        split_calibration_rows(rows.select(range(200)), Means(calibration="split"))


def test_a_split_calibrates_by_rows_that_were_not_trained_on():
    estimator = myriad.NearestMeans(calibration="split", threads=1).fit(X, LABELS)
    assert estimator.calibration_.source == "split"
    assert estimator.class_count_.sum() == 400
    assert estimator.predict_proba(X).shape == (500, 5)
    none = myriad.NearestMeans(calibration="none", threads=1).fit(X, LABELS)
    assert none.calibration_ is None
    assert not hasattr(none, "predict_proba")


def test_too_few_rows_leave_a_model_without_probabilities():
    notes = []

    class Notes(type(SILENT)):
        def note(self, text):
            notes.append(text)

    train = ArrayRows(X, LABELS)
    val = ArrayRows(X[:20], LABELS[:20])
    fitted = Means().fit(train, val, n_classes=5)
    fitted = add_calibration(fitted, Means(), train, val, None, Notes())
    assert fitted.calibration is None
    assert isinstance(fitted.held_scores, HeldScores)
    assert "at least 50 held-out rows are needed, and there are 20" in notes[0]


def test_prediction_sets_of_an_estimator():
    estimator = myriad.LinearSGD(threads=1).fit(X, LABELS)
    sets = estimator.predict_set(X, 0.9)
    assert len(sets) == len(X)
    assert min(len(one) for one in sets) >= 1
    with pytest.raises(InputError, match="coverage"):
        estimator.predict_set(X, 1.5)


def test_rows_held_out_for_calibration_do_not_divide_groups():
    groups = np.where(np.arange(600) < 300, np.arange(600) // 5, -1)
    rows = ArrayRows(np.zeros((600, 2), np.float32), np.arange(600) % 3, groups=groups)
    train, kept = split_calibration_rows(rows, SGD(calibration="split"))
    assert 110 <= kept.n_rows <= 120
    assert train.n_rows + kept.n_rows == 600
    assert not (set(train.groups) & set(kept.groups)) - {-1}


def draw_several(n, seed):
    """Return rows near the means of their classes, of which each has one or two."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(5, 6))
    lists = [sorted(rng.choice(5, rng.integers(1, 3), replace=False).tolist()) for _ in range(n)]
    rows = np.stack([means[some].sum(axis=0) for some in lists])
    return (rows + 0.5 * rng.normal(size=rows.shape)).astype(np.float32), lists


@pytest.mark.parametrize(
    "estimator",
    [
        myriad.LinearSGD(eta=0.1, beta=4, epochs=5, calibration="split"),
        myriad.LinearSGD(objective="multiclass", eta=0.1, epochs=5, calibration="split"),
        myriad.DualSVM(lam=0.01, tol=0.01, class_weight="balanced", calibration="split"),
    ],
    ids=["ovr", "multiclass", "dual"],
)
def test_several_labels_have_probabilities_of_their_own(estimator):
    rows, lists = draw_several(600, seed=1)
    estimator.fit(rows, lists)
    assert estimator.calibration_ is None
    assert estimator.label_calibration_.source == "split"
    unseen, truths = draw_several(400, seed=2)
    P = estimator.predict_proba(unseen)
    present = np.mean([len(labels) for labels in truths])
    assert P.sum(axis=1).mean() == pytest.approx(present, rel=0.15)
    given = estimator.predict_labels(unseen)
    right = sum(len(set(one) & set(two)) for one, two in zip(given, truths, strict=True))
    f1 = 2 * right / sum(len(one) + len(two) for one, two in zip(given, truths, strict=True))
    assert f1 > 0.75
    surer = estimator.predict_labels(unseen, "precision=0.95")
    assert sum(map(len, surer)) < sum(map(len, given))
    with pytest.raises(InputError, match="single-label models"):
        estimator.predict_set(unseen)


def test_labels_are_assigned_by_models_of_several_labels():
    estimator = myriad.LinearSGD(eta=0.1, beta=4, epochs=2, calibration="split")
    with pytest.raises(InputError, match="single-label model"):
        estimator.fit(X, LABELS).predict_labels(X)
