"""Tests of the families of candidates: their paths, and what is trained in the end."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.store import ArrayRows
from myriad.training import Context
from myriad.training.automatic import trials as comparison
from myriad.training.automatic.families import FAMILIES
from myriad.training.automatic.folds import Judge
from myriad.training.automatic.paths import climb, find_smoothed_half
from myriad.training.automatic.selection import PLANS, decide, make_problem
from myriad.training.automatic.trials import Trial, find_best, has_peaked, smooth_trials


def trials(*scores):
    found = [Trial("dual", {}, np.ones(1, np.int32), score) for score in scores]
    smooth_trials(found)
    return found


def test_scores_are_averaged_with_their_neighbours():
    found = [trial.smooth for trial in trials(50, 60, 40)]
    assert found == pytest.approx([52.5, 52.5, 45])


def test_a_path_has_peaked_after_two_points_that_are_no_better():
    assert not has_peaked(trials(10, 50, 80))
    assert not has_peaked(trials(70, 80, 75))
    assert has_peaked(trials(70, 80, 75, 72))
    assert not has_peaked(trials(20, 20, 20, 20)), "nothing is learned yet"


@pytest.fixture(scope="module")
def problem():
    draws = np.random.default_rng(0)
    y = np.repeat(np.arange(5, dtype=np.int32), 30)
    X = draws.standard_normal((150, 8)) + 2 * np.eye(5, 8)[y]
    rows = ArrayRows(X.astype(np.float32), y)
    return make_problem(rows, 5, PLANS["normal"], n_rows=150, seed=0, memory=1 << 30)


@pytest.mark.parametrize("name", ["softmax", "dual", "plda", "projected", "ovr"])
def test_candidates_are_judged_on_the_held_out_rows(problem, name):
    with Context(threads=1).open() as running:
        found = FAMILIES[name](problem, running).search(lambda n: None)
    assert max(trial.score for trial in found) > 75
    assert all(len(trial.ranks) == 150 for trial in found)
    assert all(trial.score == problem.judge.score(trial.correct) for trial in found)
    assert all(trial.top5 == 100 for trial in found)


@pytest.mark.parametrize("name", ["softmax", "dual", "plda", "projected"])
def test_settings_explored_on_the_first_fold_are_compared_on_all_folds(problem, name, monkeypatch):
    monkeypatch.setattr(comparison, "EXPLORED_ROWS", 40)
    explored = problem.explored()
    assert [fold.held.n_rows for fold in explored.folds] == [50]
    assert explored.judge.score(np.arange(50) < 25) == pytest.approx(50)
    with Context(threads=1).open() as running:
        found = FAMILIES[name](problem, running).search(lambda n: None)
    assert max(trial.score for trial in found) > 75
    assert all(len(trial.ranks) == 150 for trial in found)


@pytest.mark.parametrize("name", ["softmax", "dual", "plda", "projected", "ovr"])
def test_a_trial_on_a_fold_is_what_its_method_trains(problem, name):
    """The method of a candidate, on the rows of a fold, ranks held-out rows as the trial did."""
    fold = problem.folds[0]
    judge = Judge(np.full(fold.held.n_rows, 1 / fold.held.n_rows), by_class=False)
    single = replace(problem, folds=[fold], n_rows=fold.train.n_rows, judge=judge)
    with Context(threads=1).open() as running:
        found = FAMILIES[name](single, running).search(lambda n: None)
    best = max(found, key=lambda trial: trial.score)
    method = FAMILIES[name].settle(best.settings, fold.train.labels, 5, seed=0)
    model = method.fit(fold.train, None, n_classes=5).model
    ranks = model.rank_true_labels(fold.held.read(np.arange(fold.held.n_rows)), fold.held.labels)[0]
    assert (ranks == best.ranks).mean() > 0.9


@pytest.mark.parametrize("name", ["softmax", "dual", "plda", "projected", "ovr"])
def test_the_best_models_of_a_search_are_kept_if_they_are_small(problem, name, monkeypatch):
    monkeypatch.setattr(comparison, "EXPLORED_ROWS", 40)
    with Context(threads=1).open() as running:
        best = find_best(FAMILIES[name](problem, running).search(lambda n: None))
        monkeypatch.setattr(comparison, "KEPT_SHARE", 0)
        others = FAMILIES[name](problem, running).search(lambda n: None)
    ranks = [
        model().rank_true_labels(fold.held.read(range(fold.held.n_rows)), fold.held.labels)[0]
        for model, fold in zip(best.models, problem.folds, strict=True)
    ]
    assert (np.concatenate(ranks) == best.ranks).mean() > 0.98, "but for rounding"
    assert not any(trial.models for trial in others)


def test_little_memory_trains_one_learning_rate_after_the_other(problem):
    with Context(threads=1).open() as running:
        together, apart = (
            FAMILIES["softmax"](replace(problem, memory=memory), running).search(lambda n: None)
            for memory in (1 << 30, 1)
        )
    scores = {(trial.settings["eta"], trial.settings["epochs"]): trial.score for trial in apart}
    for trial in together:
        key = trial.settings["eta"], trial.settings["epochs"]
        assert scores.get(key, trial.score) == pytest.approx(trial.score, abs=2)


def test_lam_of_a_space_is_searched_until_those_beside_it_are_no_better():
    tried = []

    def attempt(half):
        tried.append(half)
        return Trial("projected", {}, np.ones(1, np.int32), 50.0 - abs(half - 3))

    found = climb(attempt, 1, -4, 6)
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert len(tried) == len(set(tried))
    assert find_smoothed_half(found) == 3
    assert sorted(climb(lambda half: Trial("", {}, np.ones(1), half), 1, -4, 3)) == [0, 1, 2, 3]


def test_softmax_in_the_space_of_discriminant_analysis_has_one_lam(
    problem,
):
    with Context(threads=1).open() as running:
        found = FAMILIES["projected"](problem, running).search(lambda n: None)
    assert len({trial.settings["plda"] for trial in found}) == 1
    assert len({trial.settings["eta"] for trial in found}) == 1
    epochs = [trial.settings["epochs"] for trial in found]
    assert epochs == sorted(set(epochs))


def test_discriminant_analysis_is_not_compared_on_a_subsample_of_large_classes(problem):
    with Context(threads=1).open() as running:
        few = replace(problem, is_subsample=True, n_rows=200)
        many = replace(problem, is_subsample=True, n_rows=200_000)
        for name in ("plda", "projected"):
            assert FAMILIES[name](few, running).suits()
            assert not FAMILIES[name](many, running).suits()


@pytest.mark.parametrize("name", ["softmax", "dual", "ovr"])
def test_a_family_that_is_far_behind_is_not_compared_on_all_folds(problem, name, monkeypatch):
    monkeypatch.setattr(comparison, "EXPLORED_ROWS", 40)
    perfect = Trial("projected", {"plda": 1.0}, np.ones(150, np.int32), 100.0, 100.0)
    poor = Trial("projected", {"plda": 1.0}, np.full(150, 2, np.int32), 0.0, 0.0)
    with Context(threads=1).open() as running:
        behind = FAMILIES[name](problem, running, [perfect]).search(lambda n: None)
        ahead = FAMILIES[name](problem, running, [poor]).search(lambda n: None)
    assert {len(trial.ranks) for trial in behind} == {50}
    assert {len(trial.ranks) for trial in ahead} == {150}
    _, choice = decide([perfect, *behind], problem)
    assert choice.family == "projected"
    assert choice.facts["runner_up"]["objective"] == name
    assert choice.facts["runner_up"]["behind"] > 0
    assert len(choice.table) == 1 + len(behind)


def test_discriminant_analysis_needs_time_and_memory(problem):
    def suits(n_features, n_classes, memory=2 << 30):
        rows = ArrayRows(np.zeros((2, n_features), np.float32), np.arange(2, dtype=np.int32))
        folds = [replace(problem.folds[0], train=rows)] * 3
        some = replace(problem, folds=folds, n_classes=n_classes, memory=memory)
        return FAMILIES["plda"](some, None).suits()

    assert suits(4096, 300)
    assert not suits(4096, 5000), "all eigenvectors"
    assert not suits(4096, 300, memory=1 << 29)
    assert not suits(10_000, 300)
    wide = replace(problem, is_subsample=True, n_rows=200, n_features=131_072)
    assert not FAMILIES["plda"](wide, None).suits(), "all rows have more features than the span"


def test_a_family_that_must_prove_itself_needs_more_than_luck(problem):
    def trial(name, n_wrong):
        own = np.ones(150, np.int32)
        own[:n_wrong] = 2
        own = own[::-1] if name == "softmax" else own  # other errors, as many
        score = problem.judge.score(own == 1)
        return Trial(name, {"lam": 1.0}, own, score, score)

    assert decide([trial("softmax", 30), trial("plda", 29)], problem)[1].family == "softmax"
    assert decide([trial("softmax", 30), trial("plda", 10)], problem)[1].family == "plda"
    assert decide([trial("softmax", 30), trial("dual", 29)], problem)[1].family == "dual"
