"""Probabilities and thresholds of several labels per row."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import f1_score, precision_score

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import (
    Assignment,
    Decider,
    LinearModel,
    ModelFolder,
    Rejection,
    calibrate_labels,
    evaluate_decisions,
    load_model,
    save_model,
)
from myriad.models.calibration import labels as module
from myriad.models.calibration.labels import OFFSET_PENALTY, fit, sigmoid

N_CLASSES = 6
SCALE, OFFSETS = 2.0, np.array([-3.0, -2.0, -1.0, -4.0, 0.0, -2.5])


def draw(n, seed):
    """Return scores whose labels have the probabilities sigmoid(SCALE s + OFFSETS)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, N_CLASSES)).astype(np.float32)
    positive = rng.random((n, N_CLASSES)) < sigmoid(SCALE * scores + OFFSETS)
    return scores, positive


def calibrated(n=2000, seed=0):
    scores, positive = draw(n, seed)
    return calibrate_labels(scores, LabelSets.from_matrix(positive), "validation")


def make_folder(calibration):
    """Return a model whose scores are the rows themselves."""
    model = LinearModel(np.eye(N_CLASSES, dtype=np.float32), np.zeros(N_CLASSES, np.float32))
    names = [f"label {c}" for c in range(N_CLASSES)]
    return ModelFolder(model, names, None, {}, None, None, calibration)


def test_the_probabilities_that_labels_were_drawn_by_are_found():
    found = calibrated(20_000)
    assert found.scale == pytest.approx(SCALE, rel=0.03)
    np.testing.assert_allclose(found.offsets, OFFSETS, atol=0.15)


def test_the_calibration_of_some_labels():
    before, kept = calibrated(), np.array([0, 2, 5])
    after = before.select(kept)
    np.testing.assert_array_equal(after.offsets, before.offsets[kept])
    np.testing.assert_array_equal(after.positives, before.positives[kept])
    for assignment in (Assignment("f1"), Assignment("precision", 0.6)):
        np.testing.assert_array_equal(
            after.find_thresholds(assignment), before.find_thresholds(assignment)[kept]
        )
    assert (
        before.select(np.arange(N_CLASSES)).wrong_overall.tolist() == before.wrong_overall.tolist()
    )


def test_newton_finds_the_optimum_in_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 100)
    scores, positive = draw(200, seed=3)

    def objective(parameters):
        scale, common, own = parameters[0], parameters[1], parameters[2:]
        logits = scale * scores + common + own
        losses = np.logaddexp(0, np.where(positive, -logits, logits))
        return losses.sum() + OFFSET_PENALTY * (own**2).sum()

    best = minimize(objective, np.r_[1.0, -1.0, np.zeros(N_CLASSES)], method="BFGS")
    scale, offsets = fit(scores, positive)
    assert objective(np.r_[scale, offsets.mean(), offsets - offsets.mean()]) <= best.fun + 0.5
    assert scale == pytest.approx(best.x[0], rel=1e-3)
    np.testing.assert_allclose(offsets, best.x[1] + best.x[2:], atol=5e-3)


def test_scores_that_say_nothing_keep_a_scale_above_zero():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 3)).astype(np.float32)
    positive = rng.random((300, 3)) < sigmoid(-3.0 * scores)  # the wrong way round
    scale, offsets = fit(scores, positive)
    assert 0 < scale < 1e-3
    assert np.isfinite(offsets).all()


def find_best_f1(truth, logits):
    """Return the largest F1 that any threshold on the logits has."""
    given = logits >= np.unique(logits)[:, None]
    return (2 * (given & truth).sum(axis=1) / (given.sum(axis=1) + truth.sum())).max()


def test_thresholds_have_the_best_f1_of_each_label():
    scores, positive = draw(500, seed=1)
    calibration = calibrate_labels(scores, LabelSets.from_matrix(positive), "split")
    logits, thresholds = (
        calibration.find_logits(scores),
        calibration.find_thresholds(Assignment()),
    )
    for c in range(N_CLASSES):
        reached = f1_score(positive[:, c], logits[:, c] >= thresholds[c])
        assert reached == pytest.approx(find_best_f1(positive[:, c], logits[:, c]))


def test_thresholds_reach_the_wanted_precision():
    calibration = calibrated()
    scores, positive = draw(20_000, seed=2)
    logits = calibration.find_logits(scores)
    thresholds = calibration.find_thresholds(Assignment("precision", 0.8))
    for c in np.flatnonzero(np.isfinite(thresholds)):
        given = logits[:, c] >= thresholds[c]
        assert precision_score(positive[:, c], given) > 0.7
    assert (thresholds > calibration.find_thresholds(Assignment("precision", 0.6))).all()


def test_rare_labels_have_the_threshold_of_all_labels():
    scores, positive = draw(500, seed=1)
    positive[5:, 3] = False
    calibration = calibrate_labels(scores, LabelSets.from_matrix(positive), "split")
    thresholds = calibration.find_thresholds(Assignment())
    logits = calibration.find_logits(scores)
    best = find_best_f1(positive.ravel(), logits.ravel())
    shared = logits >= thresholds[3]
    assert f1_score(positive.ravel(), shared.ravel()) == pytest.approx(best)


def test_a_precision_that_is_not_reached_is_an_error_that_names_the_highest():
    with pytest.raises(InputError, match="the highest that can be shown is 0\\.9"):
        calibrated(200).find_thresholds(Assignment("precision", 0.9999))


@pytest.mark.parametrize(
    "text", ["f2", "precision", "precision=x", "recall=0.5", "precision=1", ""]
)
def test_what_cannot_be_assigned(text):
    with pytest.raises(InputError):
        Assignment.parse(text)
    assert Assignment.parse("precision=0.9") == Assignment("precision", 0.9)
    assert Assignment.parse("f1") == Assignment()


def test_too_few_rows_and_rows_without_labels_do_not_calibrate():
    scores, positive = draw(40, seed=0)
    assert calibrate_labels(scores, LabelSets.from_matrix(positive), "split") is None
    scores, positive = draw(100, seed=0)
    nothing = LabelSets.from_matrix(np.zeros_like(positive))
    assert calibrate_labels(scores, nothing, "split") is None


def test_decisions_are_kept_in_the_folder_and_judged(tmp_path):
    save_model(tmp_path, make_folder(calibrated()), card="")
    decider = Decider(load_model(tmp_path))
    scores, positive = draw(300, seed=5)
    P, found = decider.predict_proba(scores), decider.decide(scores, 3)
    np.testing.assert_array_equal(found.labels[:, 0], P.argmax(axis=1))
    expected = np.take_along_axis(P, found.labels.astype(int), axis=1)
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-6)
    described = decider.describe(found)
    assert [len(one["assigned"]) for one in described] == [len(one) for one in found.assigned]
    results = evaluate_decisions(decider, scores, LabelSets.from_matrix(positive))
    given = np.zeros_like(positive)
    for row, labels in enumerate(found.assigned):
        given[row, labels] = True
    np.testing.assert_array_equal(results["given"].sum(axis=0), given.sum(axis=0))
    np.testing.assert_array_equal(results["right"].sum(axis=0), (given & positive).sum(axis=0))
    np.testing.assert_allclose(results["expected"], P.sum(axis=1))


def test_weights_multiply_the_odds_and_zero_leaves_a_label_out():
    weights = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0])
    folder, (scores, _) = make_folder(calibrated()), draw(50, seed=6)
    plain, weighted = Decider(folder), Decider(folder, weights=weights)
    P = plain.predict_proba(scores)
    odds = weights * P / (1 - P)
    np.testing.assert_allclose(weighted.predict_proba(scores), odds / (1 + odds), rtol=1e-4)
    assert not any((labels == 1).any() for labels in weighted.decide(scores, 2).assigned)


@pytest.mark.parametrize("options", [{"coverage": 0.9}, {"reject": Rejection("rate", 0.1)}])
def test_sets_and_rejection_are_for_one_label_a_row(options):
    with pytest.raises(InputError, match="single-label models"):
        Decider(make_folder(calibrated()), **options)


def test_assignment_is_for_several_labels_a_row():
    with pytest.raises(InputError, match="--assign needs probabilities of labels"):
        Decider(make_folder(None), assign=Assignment())
