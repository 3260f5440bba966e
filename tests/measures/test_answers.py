"""Measures of probabilities and of answers, against scikit-learn and plain counts."""

import numpy as np
from sklearn.metrics import log_loss, precision_recall_fscore_support

from myriad.measures import (
    list_labels,
    measure_calibration,
    measure_labels,
    measure_levels,
    measure_rejection,
    measure_sets,
)
from myriad.measures.calibration import calibration_error, chance_error, risk_coverage

RNG = np.random.default_rng(0)


def draw(n=400, n_classes=4):
    P = RNG.dirichlet(np.ones(n_classes), n)
    y = np.array([RNG.choice(n_classes, p=p) for p in P])
    return P, y


def test_brier_score_and_log_loss():
    P, y = draw()
    true = P[np.arange(len(y)), y]
    found = measure_calibration(P.max(axis=1), P.argmax(axis=1) == y, true, (P**2).sum(axis=1))
    np.testing.assert_allclose(found.log_loss, log_loss(y, P))
    np.testing.assert_allclose(found.brier, ((P - np.eye(4)[y]) ** 2).sum(axis=1).mean())
    assert found.curve[-1] == (100.0, 100.0 * (P.argmax(axis=1) != y).mean())
    assert len(found.bins) == 15
    assert measure_calibration(*(values[:0] for values in (true, y == 0, true, true))) is None


def test_the_calibration_error_is_the_mean_difference_of_bins():
    P, y = draw(n=95)
    confidence, correct = P.max(axis=1), P.argmax(axis=1) == y
    order = np.argsort(confidence)
    parts = np.array_split(order, 15)
    plain = sum(abs(confidence[i].mean() - correct[i].mean()) * len(i) for i in parts) / 95
    np.testing.assert_allclose(calibration_error(confidence, correct), plain)


def test_honest_probabilities_have_the_error_of_chance():
    P, y = draw(n=4000)
    confidence, correct = P.max(axis=1), P.argmax(axis=1) == y
    assert abs(calibration_error(confidence, correct) - chance_error(confidence)) < 0.015
    assert calibration_error(np.minimum(confidence + 0.2, 1), correct) > 0.1


def test_risk_falls_with_fewer_answers():
    confidence, correct = np.array([0.9, 0.5, 0.7]), np.array([True, False, True])
    np.testing.assert_allclose(risk_coverage(confidence, correct), [0, 0, 1 / 3])


def test_sets():
    sizes, covered = np.array([1, 1, 2, 7]), np.array([True, False, True, True])
    found = measure_sets(sizes, covered, np.array([1, 2, 2, 4], np.int32))
    assert (found["coverage"], found["mean_size"], found["median_size"]) == (75.0, 2.75, 1.5)
    assert found["sizes"] == {"1": 50.0, "2": 25.0, "6-10": 25.0}
    assert found["top_k"] == {"k": 3, "coverage": 75.0}
    assert measure_sets(sizes[:0], covered[:0], sizes[:0]) is None


def test_rejection():
    answered, correct = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert measure_rejection(answered, correct) == {"answered": 50.0, "precision": 50.0}
    assert measure_rejection(answered & False, correct)["precision"] is None


def test_levels():
    right = [np.array([True, False, False]), np.array([True, True, False])]
    levels, answers = np.array([0, 1, -1]), np.array([True, True, False])
    species, genus = measure_levels(["label", "genus"], right, levels, answers)
    np.testing.assert_allclose([species["accuracy"], genus["accuracy"]], [100 / 3, 200 / 3])
    assert species["precision"] == genus["precision"] == 100.0


def test_given_labels_agree_with_scikit_learn():
    true, given = RNG.random((2, 60, 5)) < 0.4
    true[:, 3] = False  # a label that no row has
    given[:, 4] = False  # and one that is never given
    counts = [(true & given).sum(axis=0), given.sum(axis=0), true.sum(axis=0)]
    names, precisions = list("abcde"), np.array([50.0, 60.0, 70.0, np.nan, 0.0])
    each = list_labels(names, *counts, precisions)
    found = precision_recall_fscore_support(true, given, zero_division=0)
    for c in range(3):
        expected = [100.0 * values[c] for values in found[:3]]
        rates = [each[c][name] for name in ("precision", "recall", "f1")]
        np.testing.assert_allclose(rates, expected)
    assert each[3]["recall"] is None
    assert each[3]["average_precision"] is None
    assert each[4]["precision"] is None
    assert each[4]["recall"] == each[4]["f1"] == 0.0
    assert [one["label"] for one in each] == names
    macro = measure_labels(*counts, 60)["macro"]["f1"]
    np.testing.assert_allclose(macro, 100.0 * np.mean([found[2][c] for c in (0, 1, 2, 4)]))
