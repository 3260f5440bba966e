import numpy as np
import pytest
from scipy.special import softmax

from myriad.checks import cross_fitting
from myriad.checks.cross_fitting import HeldProbabilities, cross_fit
from myriad.errors import InputError
from myriad.models import HeldScores, calibrate
from myriad.store import ArrayRows
from myriad.training import Automatic, Context
from myriad.training.sgd.method import SGD

SOFTMAX = SGD(objective="softmax", eta=1.0, epochs=4, scale=False)


def draw_problem(n_classes=6, n_rows=180, dim=12, seed=0, spread=0.5):
    draws = np.random.default_rng(seed)
    means = draws.standard_normal((n_classes, dim))
    labels = np.arange(n_rows) % n_classes
    X = means[labels] + spread * draws.standard_normal((n_rows, dim))
    return X.astype(np.float32), labels.astype(np.int32)


def test_every_row_is_scored_once_and_probabilities_are_those_of_all_classes():
    X, y = draw_problem()
    held = cross_fit(SOFTMAX, ArrayRows(X, y), n_classes=6, context=Context(threads=1))
    assert held.numbers.tolist() == list(range(180))
    assert held.labels.tolist() == y.tolist()
    np.testing.assert_allclose(held.probabilities.sum(axis=1), 1, atol=1e-4)
    assert (np.diff(held.probabilities, axis=1) <= 1e-6).all()
    given = held.probabilities[held.classes == y[:, None]]
    np.testing.assert_allclose(held.given, given, atol=1e-5)
    assert (held.classes[:, 0] == y).mean() > 0.9


def test_the_scores_of_most_rows_are_not_kept(monkeypatch):
    """Where rows are many, some of a fold calibrate, and the others are scored block by block."""
    X, y = draw_problem()
    every = cross_fit(SOFTMAX, ArrayRows(X, y), n_classes=6, context=Context(threads=1))
    monkeypatch.setattr(cross_fitting, "CALIBRATION_ROWS", 20)
    monkeypatch.setattr(cross_fitting, "LEAST_ROWS", 20)
    monkeypatch.setattr("myriad.models.calibration.classes.LEAST_ROWS", 20)
    monkeypatch.setattr(cross_fitting, "BLOCK_ROWS", 7)
    few = cross_fit(SOFTMAX, ArrayRows(X, y), n_classes=6, context=Context(threads=1))
    assert few.numbers.tolist() == list(range(180))
    assert (few.classes[:, 0] == every.classes[:, 0]).mean() > 0.99
    np.testing.assert_allclose(few.probabilities.sum(axis=1), 1, atol=1e-4)


def test_rows_that_are_excluded_are_scored_and_not_trained_on():
    X, y = draw_problem()
    wrong = y.copy()
    wrong[y == 0] = 1  # all rows of a class have the label of another
    excluded = (y == 0) & (np.arange(180) >= 6)
    rows = ArrayRows(X, wrong)
    held = cross_fit(SOFTMAX, rows, n_classes=6, excluded=excluded, context=Context(threads=1))
    plain = cross_fit(SOFTMAX, rows, n_classes=6, context=Context(threads=1))
    assert held.numbers.tolist() == list(range(180))
    assert held.given[excluded].mean() < plain.given[excluded].mean()
    few = cross_fit(SOFTMAX, rows.select(np.arange(50)), n_classes=6, excluded=excluded[:50])
    assert len(few) == 50  # all of them calibrate, as fewer would be too few


def test_probabilities_are_those_of_the_calibration():
    draws = np.random.default_rng(0)
    scores = draws.standard_normal((200, 150)).astype(np.float32)
    labels = np.where(draws.random(200) < 0.7, scores.argmax(axis=1), 3).astype(np.int32)
    held = HeldScores.of(scores, labels)
    calibration = calibrate(held, "cross-fitted")
    found = HeldProbabilities.of(held, np.arange(200), calibration)
    logits = calibration.scales(scores.max(axis=1))[:, None] * scores.astype(np.float64)
    second, first = np.sort(logits, axis=1)[:, -2:].T
    logits[np.arange(200), scores.argmax(axis=1)] += calibration.bonuses(first, second)
    exact = softmax(logits, axis=1)
    np.testing.assert_allclose(found.given, exact[np.arange(200), labels], rtol=0.02)
    best = np.take_along_axis(exact, found.classes.astype(np.int64), axis=1)
    np.testing.assert_allclose(found.probabilities, best, rtol=0.02)


def test_a_row_is_scored_by_models_trained_without_it():
    """Rows of noise: a model that has seen them would know their labels."""
    draws = np.random.default_rng(0)
    X = draws.standard_normal((120, 200)).astype(np.float32)
    y = np.arange(120, dtype=np.int32) % 4
    held = cross_fit(SOFTMAX, ArrayRows(X, y), n_classes=4)
    assert (held.classes[:, 0] == y).mean() < 0.5


def test_copies_do_not_vouch_for_each_other():
    X, y = draw_problem()
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    y[[0, 180]] = 1  # a picture of class 0, twice under the wrong label
    groups = np.tile(np.arange(180), 2)
    held = cross_fit(SOFTMAX, ArrayRows(X, y, groups=groups), n_classes=6)
    assert held.classes[[0, 180], 0].tolist() == [0, 0]


def test_settings_left_open_are_searched():
    X, y = draw_problem()
    held = cross_fit(Automatic(search="quick"), ArrayRows(X, y), n_classes=6)
    assert (held.classes[:, 0] == y).mean() > 0.9


def test_rows_without_a_label_are_left_out():
    X, y = draw_problem()
    y[:10] = -1
    held = cross_fit(SOFTMAX, ArrayRows(X, y, [str(c) for c in range(6)]), n_classes=6)
    assert held.numbers.tolist() == list(range(10, 180))


@pytest.mark.parametrize("labels", [np.arange(20) % 2, np.zeros(100, int)])
def test_too_little_is_refused(labels):
    rows = ArrayRows(np.ones((len(labels), 3), np.float32), labels)
    with pytest.raises(InputError, match="two classes and 50 images or rows"):
        cross_fit(SOFTMAX, rows, n_classes=2)
