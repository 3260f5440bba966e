"""Tests of the scores that calibrate the chosen candidate, and of the change that is predicted."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.models import HeldScores
from myriad.models.calibration.classes import fit_scale
from myriad.store import ArrayRows
from myriad.training import Context
from myriad.training.automatic import calibration_scores as module
from myriad.training.automatic import selection, trials
from myriad.training.automatic.choice import Choice
from myriad.training.automatic.selection import PLANS, make_problem

N_CLASSES, N_ROWS = 5, 300


@pytest.fixture(scope="module")
def rows():
    draws = np.random.default_rng(0)
    y = np.repeat(np.arange(N_CLASSES, dtype=np.int32), N_ROWS // N_CLASSES)
    X = draws.standard_normal((N_ROWS, 8)) + 1.5 * np.eye(N_CLASSES, 8)[y]
    return ArrayRows(X.astype(np.float32), y)


@pytest.fixture(scope="module")
def problem(rows):
    return make_problem(
        rows, N_CLASSES, PLANS["normal"], n_rows=rows.n_rows, seed=0, memory=1 << 30
    )


def test_half_of_the_rows_of_each_class_are_drawn_rounded_up():
    labels = np.array([2, 0, 2, -1, 1, 2, 0, 2, 2], np.int32)
    drawn = module.draw_half(labels, seed=3)
    assert np.bincount(labels[drawn]).tolist() == [1, 1, 3]
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(drawn, module.draw_half(labels, seed=3))


def test_models_are_trained_again_only_if_they_were_not_kept(rows, monkeypatch):
    trained = []
    train = module.train_chosen

    def count(choice, some, problem, running):
        trained.append(some.n_rows)
        return train(choice, some, problem, running)

    monkeypatch.setattr(module, "train_chosen", count)
    sizes = {"n_rows": N_ROWS, "n_features": 8, "seed": 0, "memory": 1 << 30}
    found = []
    for kept, expected in ((0, [200, 100]), (1, [100])):
        monkeypatch.setattr(trials, "KEPT_SHARE", kept)
        with Context(threads=1).open() as running:
            _, held = selection.choose(rows, N_CLASSES, search="quick", running=running, **sizes)
        assert trained == expected
        trained.clear()
        found.append(held)
    np.testing.assert_array_equal(found[0].numbers, found[1].numbers)
    np.testing.assert_allclose(found[0].true, found[1].true, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("growth", "final"), [(2.0, 1), (0.5, 1), (1.0, 1), (2.0, 1.8), (2.0, 9)])
def test_the_change_of_the_temperature_is_extrapolated(problem, monkeypatch, growth, final):
    """Scores that grow with the number of rows, by the same factor for each doubling."""
    problem = replace(problem, n_rows=int(final * N_ROWS))
    fold = problem.folds[0]
    choice = Choice("softmax", {"eta": 0.1, "epochs": 4})
    with Context(threads=1).open() as running:
        model = module.train_chosen(choice, fold.train, problem, running)
        scores = module.score_folds([model], [fold])
        smaller = replace(model, weights=model.weights / growth, biases=model.biases / growth)
        monkeypatch.setattr(module, "train_chosen", lambda *given: smaller)
        change = module.predict_change(choice, scores, np.zeros(N_CLASSES), problem, running)
    doublings = np.log2(min(problem.n_rows / fold.train.n_rows, module.MOST_RATIO))
    share = len(scores) / (len(scores) + module.UNCHANGED_ROWS)
    assert change.scale == pytest.approx(growth ** (-doublings * share), rel=1e-3)
    assert change.loss == pytest.approx(1.0, rel=1e-3)


def test_no_change_is_predicted_where_half_of_the_rows_are_all(monkeypatch):
    draws = np.random.default_rng(0)
    rows = ArrayRows(draws.standard_normal((10, 3), np.float32), np.arange(10, dtype=np.int32) // 2)
    problem = make_problem(rows, 5, PLANS["normal"], n_rows=10, seed=0, memory=1 << 30)
    monkeypatch.delattr(module, "train_chosen")
    assert module.predict_change(None, None, None, problem, None) == module.Change()


@pytest.mark.parametrize("name", ["softmax", "projected", "dual"])
def test_held_out_scores_have_the_temperature_of_the_final_model(name, monkeypatch):
    draws = np.random.default_rng(1)
    means = draws.standard_normal((40, 60))

    def draw_rows(n_each):
        y = np.repeat(np.arange(40, dtype=np.int32), n_each)
        X = means[y] + 2.5 * draws.standard_normal((len(y), 60))
        return ArrayRows(X.astype(np.float32), y)

    rows, new = draw_rows(20), draw_rows(100)
    monkeypatch.setitem(PLANS, "normal", replace(PLANS["normal"], families=(name,)))
    sizes = {"n_rows": rows.n_rows, "n_features": 60, "seed": 0, "memory": 1 << 30}
    with Context(threads=1).open() as running:
        choice, held = selection.choose(rows, 40, search="normal", running=running, **sizes)
    model = choice.method(rows, 40, seed=0).fit(rows, None, n_classes=40).model
    final = HeldScores.of(model.scores(new.read(range(new.n_rows))), new.labels)
    scale, loss = fit_scale(held)
    final_scale, final_loss = fit_scale(final)
    assert abs(scale - final_scale) < 0.12
    assert choice.miss_ratio > 1.0
    assert loss / choice.miss_ratio == pytest.approx(final_loss, rel=0.15)
