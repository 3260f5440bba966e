"""The search of settings, and early stopping."""

import math

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import measure
from myriad.store import ArrayRows
from myriad.training import OFFERS, SGD, Schedule, hold_out, make_method
from myriad.training.search import default_betas, grid, search_rows
from myriad.training.settings import Setting
from myriad.training.stopping import Stopping


def make_rows(n=600, dim=8, n_classes=6, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + spread * rng.standard_normal((n_classes, dim))[labels]
    return ArrayRows(X.astype(np.float32), labels)


def test_betas_are_powers_of_two_up_to_all():
    assert default_betas(2) == [math.inf]
    assert default_betas(16) == [1.0, 2.0, 4.0, math.inf]
    assert default_betas(300) == [1.0, 4.0, 16.0, 64.0, math.inf]
    assert default_betas(100_000) == [1.0, 4.0, 16.0, 64.0, 256.0]


def test_given_numbers_are_not_searched():
    assert grid(SGD(eta=0.5, beta=4.0, lam=0.1), 10, 2.0) == [Setting(0.5, 4.0, 0.1)]
    assert {s.eta for s in grid(SGD(eta=0.5), 10, 2.0)} == {0.5}
    assert {s.beta for s in grid(SGD(objective="warp"), 10, 2.0)} == {None}


def test_steps_scale_with_the_rows():
    warp = SGD(objective="warp")
    small, large = grid(warp, 10, 1.0), grid(warp, 10, 100.0)
    for a, b in zip(small, large, strict=True):
        assert a.eta == pytest.approx(100 * b.eta)


def test_large_problems_are_searched_on_a_part():
    rows = make_rows(n=5000)
    assert search_rows(rows, 10, 6, seed=0) is rows
    part = search_rows(rows, 10**8, 6, seed=0)
    assert part.n_rows == 2000
    assert set(part.labels) == set(range(6))


@pytest.mark.parametrize("objective", ["ovr", "multiclass", "ranking", "warp", "softmax"])
def test_the_best_weights_on_validation_are_kept(objective):
    train, val = hold_out(make_rows(), 0.2, seed=0)
    fitted = SGD(objective=objective, epochs=12).fit(train, val, n_classes=6, threads=1)
    scores = val.read(np.arange(val.n_rows)) @ fitted.model.weights.T + fitted.model.biases
    top1 = 100 * (scores.argmax(axis=1) == val.labels).mean()
    assert top1 == pytest.approx(max(h["top1"] for h in fitted.history), abs=0.9)
    assert fitted.history[fitted.epochs - 1]["top1"] == max(h["top1"] for h in fitted.history)
    chosen = [
        row
        for row in fitted.table
        if Setting.from_json(fitted.settings).to_json().items() <= row.items()
    ]
    keys = ("epochs", "top1", "top5")
    assert max(tuple(row[key] for key in keys) for row in fitted.table) == tuple(
        chosen[0][key] for key in keys
    )


def test_a_step_that_diverges_loses_the_search_and_breaks_nothing():
    train, val = hold_out(make_rows(), 0.2, seed=0)
    method = SGD(
        loss="squared", beta=math.inf, epochs=5
    )  # the squared loss diverges at the largest step
    fitted = method.fit(train, val, n_classes=6, threads=2)
    assert np.isfinite(fitted.model.weights).all()
    assert fitted.history[-1]["top1"] > 40


def test_hold_out_takes_from_every_class_that_can_spare_a_row():
    labels = np.array([0] * 10 + [1] * 2 + [2], np.int32)
    rows = ArrayRows(np.eye(13, dtype=np.float32), labels)
    kept, held = hold_out(rows, 0.1, seed=0)
    assert sorted(held.labels) == [0, 1]
    assert kept.n_rows + held.n_rows == 13
    alone, nothing = hold_out(rows.select([0, 10, 12]), 0.1, seed=0)
    assert alone.n_rows == 3
    assert nothing is None


def measures(top1):
    ranks = np.array([1] * top1 + [9] * (100 - top1), np.int32)
    return measure(ranks, np.zeros(100, np.int32), n_classes=20)


def test_stopping_waits_and_remembers_the_best():
    stopping = Stopping(theta=1.0, patience=2)
    for epoch, top1 in enumerate([50, 60, 60, 61], start=1):
        stopping.watch(epoch, measures(top1))
    assert stopping.done  # 61 is no rise of more than a point over 60
    assert stopping.best_epoch == 4
    assert stopping.best[0] == 61


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"eta": -1.0}, "eta"),
        ({"eta": math.inf}, "eta"),
        ({"beta": 0.0}, "beta"),
        ({"lam": math.nan}, "lam"),
        ({"patience": 0}, "patience"),
        ({"schedule": Schedule("lam")}, "lam"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_wrong_plan_is_refused(wrong, name):
    with pytest.raises(InputError, match=name):
        SGD(**wrong)


def test_words_for_numbers():
    assert make_method(OFFERS, "ovr", beta="all").beta == math.inf
    assert make_method(OFFERS, "ovr", beta="auto").beta is None
    assert make_method(OFFERS, "ovr", beta="2.5").beta == 2.5
    with pytest.raises(InputError, match="--beta must be a number or auto or all, not 'many'"):
        make_method(OFFERS, "ovr", beta="many")
    with pytest.raises(InputError, match="--beta does not belong to --objective warp"):
        make_method(OFFERS, "warp", beta="2")
    with pytest.raises(InputError, match="--objective must be one of ovr"):
        make_method(OFFERS, "wrap")
