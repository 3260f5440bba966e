"""Calibration against plain NumPy: sums, gradients, the optimum, and what is kept of rows."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar
from scipy.special import log_softmax, logsumexp

from myriad.models import HeldScores, calibrate, load_model, save_model
from myriad.models.calibration import classes as module
from myriad.models.ranking import rank_scores, sum_exponentials
from tests.models.folders import draw_rows, make_folder

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [1, 7, 300])
@pytest.mark.parametrize("most", [0.0, 0.7])
def test_sums_are_those_of_scipy(n_classes, most):
    scores = RNG.normal(scale=20, size=(30, n_classes)).astype(np.float32)
    if n_classes > 1:
        scores[3, 0] = -np.inf
    scales = RNG.uniform(0.1, 3, 30).astype(np.float32)
    found, bonuses = np.empty(30), RNG.uniform(0.0, most, 30)
    sum_exponentials(scores, scales, scores.max(axis=1), bonuses, found)
    logits = scales[:, None].astype(np.float64) * scores
    logits[np.arange(30), scores.argmax(axis=1)] += bonuses
    np.testing.assert_allclose(found, logsumexp(logits, axis=1), rtol=1e-5, atol=1e-5)


def test_ranked_scores():
    scores = RNG.normal(size=(30, 7)).astype(np.float32)
    scores[4, 1:] = -np.inf
    labels, best = rank_scores(scores, 2)
    np.testing.assert_array_equal(best, np.sort(scores, axis=1)[:, :-3:-1])
    np.testing.assert_array_equal(np.take_along_axis(scores, labels, axis=1), best)
    labels, best = rank_scores(scores[:, :1], 2)
    assert not labels.any()
    np.testing.assert_array_equal(best, scores[:, :1])


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
def test_groups_keep_the_sums_of_many_classes(scale):
    scores = RNG.normal(scale=2, size=(40, 3000)).astype(np.float32)
    held = HeldScores.of(scores, np.zeros(40, np.int32))
    assert held.rest_counts.sum() == 40 * 2900
    found = module.sum_log(held, np.full(40, scale), np.zeros(40))
    np.testing.assert_allclose(found, logsumexp(scale * scores, axis=1), atol=6e-3)


def test_ties_at_the_last_class_kept_are_counted():
    scores = np.zeros((2, 150), np.float32)
    held = HeldScores.of(scores, np.array([0, 149], np.int32))
    np.testing.assert_array_equal(held.rest_counts.sum(axis=1), 50)
    np.testing.assert_allclose(
        module.sum_log(held, np.ones(2), np.zeros(2)), np.log(150), rtol=1e-6
    )


def make_held(n_rows=300, n_classes=12, seed=3):
    folder = make_folder(n_classes, calibrated=False)
    X, labels = draw_rows(n_rows, n_classes, 6, seed)
    scores = folder.model.scores(X)
    return scores, labels, HeldScores.of(scores, labels)


def test_the_log_loss_has_no_descent_left():
    scores, labels, held = make_held()
    found = calibrate(held, "validation")
    deviations = np.clip((scores.max(axis=1) - found.centre) / found.spread, -3, 3)
    rows, share = np.arange(len(scores)), 1 / (len(scores) + 2)
    wrong = np.where(np.arange(scores.shape[1]) == labels[:, None], -np.inf, scores).argmax(axis=1)

    def objective(parameters):
        scales = np.exp(parameters[0] + parameters[1] * deviations)
        logits = scales[:, None] * scores.astype(np.float64)
        second, first = np.sort(logits, axis=1)[:, -2:].T
        bonuses = parameters[2] + parameters[3] * (first - second)
        logits[np.arange(len(scores)), scores.argmax(axis=1)] += bonuses
        losses = -log_softmax(logits, axis=1)
        losses = (1 - share) * losses[rows, labels] + share * losses[rows, wrong]
        return losses.mean() + module.PENALTY * np.square(parameters[1:]).sum() / len(labels)

    best = np.array([np.log(found.scale), found.slope, found.bonus, found.gain])
    gradient = approx_fprime(best, objective, 1e-6)
    np.testing.assert_allclose(gradient[:2], 0, atol=2e-4)
    for value, descent in zip(best[2:], gradient[2:], strict=True):
        assert abs(descent) < 2e-4 or (value == 0.0 and descent > 0)  # at its lower bound
    only = minimize_scalar(lambda a: objective(np.array([a, 0, 0, 0])), bounds=(-5, 5)).fun
    assert objective(best) <= only + 1e-9


def test_the_bonus_grows_with_the_margin_where_labels_show_it():
    """Labels are drawn from probabilities of the same form, whose parameters are found again."""
    scores = RNG.normal(size=(20_000, 40)).astype(np.float32)
    logits = 1.5 * scores.astype(np.float64)
    second, first = np.sort(logits, axis=1)[:, -2:].T
    logits[np.arange(len(scores)), scores.argmax(axis=1)] += 0.5 + 0.6 * (first - second)
    sums = np.exp(log_softmax(logits, axis=1)).cumsum(axis=1)
    labels = (sums < RNG.uniform(0, sums[:, -1:], (len(scores), 1))).sum(axis=1)
    found = calibrate(HeldScores.of(scores, labels.astype(np.int32)), "validation")
    assert found.scale == pytest.approx(1.5, rel=0.05)
    assert found.bonus == pytest.approx(0.5, abs=0.1)
    assert found.gain == pytest.approx(0.6, abs=0.1)


def test_margins_without_an_end_make_finite_bonuses():
    found = calibrate(make_held()[2], "validation")
    bonuses = found.bonuses(np.array([3e38, 0.0]), np.array([-3e38, -np.inf]))
    assert np.isfinite(np.exp(bonuses)).all()


def test_what_is_kept_of_the_rows():
    scores, labels, held = make_held()
    found = calibrate(held, "validation")
    logits = found.scales(scores.max(axis=1))[:, None].astype(np.float64) * scores
    second, first = np.sort(logits, axis=1)[:, -2:].T
    logits[np.arange(len(scores)), scores.argmax(axis=1)] += found.bonuses(first, second)
    P = np.exp(log_softmax(logits, axis=1))
    true = P[np.arange(len(P)), labels]
    above = np.where(scores > scores[np.arange(len(P)), labels][:, None], P, 0).sum(axis=1)
    ranks = (scores >= scores[np.arange(len(P)), labels][:, None]).sum(axis=1)
    order = np.lexsort((true, labels))
    own = np.lexsort((found.true, found.labels))
    for values, kept in ((true, "true"), (above, "above"), (ranks, "ranks")):
        np.testing.assert_allclose(getattr(found, kept)[own], values[order], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(np.sort(found.confidence), np.sort(P.max(axis=1)), rtol=1e-3)
    np.testing.assert_allclose(np.sort(found.squares), np.sort((P**2).sum(axis=1)), rtol=1e-3)
    assert found.ranked.shape == (60, 12)


def test_probabilities_keep_the_order_of_the_scores():
    folder = make_folder(30, n_rows=600)
    X, _ = draw_rows(200, 30, 6, seed=8)
    from myriad.models import Decider

    P = Decider(folder).predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    order = np.argsort(-folder.model.scores(X), axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(P, order, axis=1), axis=1) <= 1e-12).all()


def test_rows_that_are_all_correct_do_not_make_certain_probabilities():
    labels = np.arange(100, dtype=np.int32) % 5
    scores = RNG.normal(size=(100, 5)).astype(np.float32)
    scores[np.arange(100), labels] += 8.0
    found = calibrate(HeldScores.of(scores, labels), "validation")
    assert 0.95 < found.confidence.mean() < 0.999


def test_two_classes_have_a_temperature_alone():
    held = make_held(n_classes=2)[2]
    found = calibrate(held, "validation")
    assert (found.slope, found.bonus, found.gain) == (0.0, 0.0, 0.0)


def test_too_few_rows():
    _, _, held = make_held(n_rows=module.LEAST_ROWS - 1)
    assert calibrate(held, "validation") is None


def test_constant_scores_make_equal_probabilities():
    held = HeldScores.of(np.ones((60, 4), np.float32), np.arange(60, dtype=np.int32) % 4)
    assert np.isfinite(calibrate(held, "validation").confidence).all()


def test_a_folder_keeps_the_calibration(tmp_path):
    folder = make_folder(9)
    save_model(tmp_path / "m", folder, card="# A model\n")
    loaded = load_model(tmp_path / "m").calibration
    assert loaded.to_json() == folder.calibration.to_json()
    np.testing.assert_array_equal(loaded.above, folder.calibration.above)


def test_the_best_scale_alone_is_that_of_scipy():
    _, _, held = make_held()
    scores = np.full((len(held), 12), np.nan)
    np.put_along_axis(scores, held.classes.astype(np.int64), held.scores, axis=1)
    wrong = np.where(held.classes[:, 0] == held.labels, held.scores[:, 1], held.scores[:, 0])
    share = 1 / (len(held) + 2)

    def loss(log_scale):
        scale = np.exp(log_scale)
        true = (1 - share) * held.true + share * wrong
        return float((logsumexp(scale * scores, axis=1) - scale * true).mean())

    best = minimize_scalar(loss, bounds=(-8, 8), method="bounded").x
    found, loss = module.fit_scale(held)
    assert found == pytest.approx(best, abs=1e-3)
    assert module.fit_scale(held.scaled(4.0)) == pytest.approx((best - np.log(4), loss), abs=1e-3)


def test_a_calibration_is_printed_without_its_rows():
    assert len(repr(module.calibrate(make_held()[2], "split"))) < 250
