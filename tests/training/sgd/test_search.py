"""The search of the settings of SGD, and training that resumes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from myriad.store import ArrayRows
from myriad.training import SGD, Checkpoint, Context, hold_out
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.optimiser import Schedule
from myriad.training.settings import Setting
from myriad.training.sgd import search
from myriad.training.sgd.search import Rung, default_betas, grid, lam_candidates, plan_rungs


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
    stated = SGD(eta=0.5, beta=4.0, lam=0.1, scale=True)
    assert grid(stated, 10, 2.0) == [Setting(0.5, 4.0, 0.1, True)]
    assert not stated.is_open
    assert {s.eta for s in grid(SGD(eta=0.5), 10, 2.0)} == {0.5}
    assert {s.beta for s in grid(SGD(objective="warp"), 10, 2.0)} == {None}


def test_steps_scale_with_the_rows():
    warp = SGD(objective="warp")
    small, large = grid(warp, 10, 1.0), grid(warp, 10, 0.01)
    for a, b in zip(small, large, strict=True):
        assert a.eta == pytest.approx(100 * b.eta)


@pytest.mark.parametrize("objective", ["ovr", "multiclass", "ranking", "warp", "softmax"])
def test_the_best_weights_on_validation_are_kept(objective):
    train, val = hold_out(make_rows(), 0.2, seed=0)
    fitted = SGD(objective=objective, epochs=12).fit(
        train, val, n_classes=6, context=Context(threads=1)
    )
    scores = val.read(np.arange(val.n_rows)) @ fitted.model.weights.T + fitted.model.biases
    top1 = 100 * (scores.argmax(axis=1) == val.labels).mean()
    assert top1 == pytest.approx(fitted.history[fitted.epochs - 1]["top1"], abs=0.9)
    found = [h["top1"] for h in fitted.history]
    smoothed = [np.mean(found[max(0, i - 2) : i + 1]) for i in range(len(found))]
    assert smoothed[fitted.epochs - 1] == pytest.approx(max(smoothed))
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
    fitted = method.fit(train, val, n_classes=6, context=Context(threads=2))
    assert np.isfinite(fitted.model.weights).all()
    assert fitted.history[-1]["top1"] > 40


def test_a_search_ends_where_plain_training_would_be():
    """Training continues from the search, and ends where training from the start does."""
    train, val = hold_out(make_rows(), 0.2, seed=0)
    method = SGD(objective="warp", epochs=6, scale=False)
    fitted = method.fit(train, val, n_classes=6, context=Context(threads=1))
    setting = Setting.from_json(fitted.settings)
    alone = SGD(objective="warp", epochs=6, eta=setting.eta, scale=False)
    again = alone.fit(train, val, n_classes=6, context=Context(threads=1))
    np.testing.assert_array_equal(fitted.model.weights, again.model.weights)
    assert [h["top1"] for h in fitted.history] == [h["top1"] for h in again.history]


def test_scaling_is_found_where_it_helps_and_folded_into_the_weights():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 60).astype(np.int32)
    X = rng.standard_normal((1200, 30)) + 1.5 * rng.standard_normal((20, 30))[labels]
    X *= 0.6 ** np.arange(30)  # a decaying spectrum: plain steps hardly move the last features
    train, val = hold_out(ArrayRows(X.astype(np.float32), labels), 0.3, seed=0)
    options = {"objective": "multiclass", "epochs": 5}
    fitted = {
        scale: SGD(scale=scale, **options).fit(train, val, n_classes=20, context=Context(threads=1))
        for scale in (None, True, False)
    }
    best = {scale: max(h["top1"] for h in found.history) for scale, found in fitted.items()}
    assert best[True] > best[False] + 5
    assert best[None] == pytest.approx(best[True], abs=1)
    assert fitted[None].settings["scale"] is True
    scores = fitted[None].model.scores(val.read(np.arange(val.n_rows)))
    top1 = 100 * (scores.argmax(axis=1) == val.labels).mean()
    assert top1 == pytest.approx(best[None], abs=0.6)


def test_lam_is_tried_on_small_data():
    train, val = hold_out(make_rows(n=200), 0.3, seed=0)
    method = SGD(objective="multiclass", lam=None, scale=False, epochs=12)
    fitted = method.fit(train, val, n_classes=6, context=Context(threads=1))
    assert len({row["lam"] for row in fitted.table}) == 4
    assert all(setting.eta * setting.lam < 0.5 for setting in lam_candidates(Setting(0.5), 10))


@pytest.mark.parametrize(("objective", "batch"), [("ovr", 1), ("softmax", 1), ("softmax", 16)])
def test_t0_is_searched_together_with_the_learning_rate(objective, batch):
    train, val = hold_out(make_rows(n=300), 0.3, seed=0)
    schedule, beta = Schedule("decay", t0=None), 2.0 if objective == "ovr" else None
    method = SGD(objective=objective, batch=batch, beta=beta, schedule=schedule, scale=False)
    method = replace(method, epochs=6)
    assert replace(method, eta=0.1).is_open
    fitted = method.fit(train, val, n_classes=6, context=Context(threads=1))
    steps = train.n_rows / 6 * 3 if objective == "ovr" else train.n_rows / batch
    tried = {(row["eta"], row["t0"]) for row in fitted.table}
    delays = {t0 for _, t0 in tried}
    assert delays == {float(f"{factor * steps:.3g}") for factor in search.DELAYS}
    assert len(tried) >= 3 * len(delays)
    settled = method.settled(fitted)
    assert not settled.is_open
    assert settled.schedule.t0 == fitted.settings["t0"] in delays
    # Where nothing is held out, the learning rate halves in the first epoch.
    alone = replace(method, eta=0.1).fit(train, None, n_classes=6, context=Context(threads=1))
    assert alone.settings["t0"] == pytest.approx(steps)


def test_training_resumes_from_a_checkpoint_to_the_same_weights(tmp_path, monkeypatch):
    train, val = hold_out(make_rows(), 0.2, seed=0)
    for objective in ("ovr", "warp", "softmax"):
        method = SGD(objective=objective, epochs=8, patience=8)
        whole = method.fit(train, val, n_classes=6, context=Context(threads=1))
        path = tmp_path / f"{objective}.safetensors"
        for stop in (3, 4, 7):
            with monkeypatch.context() as patch:
                patch.setattr(
                    LinearTrainer, "run_epoch", break_off_after(stop, LinearTrainer.run_epoch)
                )
                checkpoint = Checkpoint(path, {"objective": objective}, every=0.0)
                with pytest.raises(KeyboardInterrupt):
                    method.fit(
                        train, val, n_classes=6, context=Context(threads=1, checkpoint=checkpoint)
                    )
        checkpoint = Checkpoint(path, {"objective": objective}, every=0.0)
        fitted = method.fit(
            train, val, n_classes=6, context=Context(threads=1, checkpoint=checkpoint)
        )
        np.testing.assert_array_equal(fitted.model.weights, whole.model.weights)
        assert [h["top1"] for h in fitted.history] == [h["top1"] for h in whole.history]
        assert fitted.table == whole.table


def break_off_after(epochs, run_epoch):
    def run(self, *args, **kwargs):
        if self.epoch == epochs and len(self.settings) == 1:
            raise KeyboardInterrupt
        run_epoch(self, *args, **kwargs)

    return run


def test_rungs_are_those_that_a_search_runs(monkeypatch):
    train, val = hold_out(make_rows(), 0.2, seed=0)
    ran = []
    run_epoch = LinearTrainer.run_epoch

    def count(self, rows, **options):
        ran.append(rows.n_rows * len(self.settings))
        run_epoch(self, rows, **options)

    monkeypatch.setattr(LinearTrainer, "run_epoch", count)
    monkeypatch.setattr(search, "MAX_EXTENSIONS", 0)
    method = SGD(objective="warp", scale=False, epochs=8)
    method.fit(train, val, n_classes=6, context=Context(threads=1))
    options = {"memory": method.memory, "epochs": 8}
    rungs = plan_rungs(len(grid(method, 6, 1.0)), train.n_rows, 6, train.dim, **options)
    assert sum(r.n_candidates * r.n_rows * r.epochs for r in rungs) == sum(ran)


def test_a_search_that_exceeds_the_memory_trains_again():
    weights = 4 * 100 * 1000
    shape = (30, 10_000, 100, 1000)
    assert plan_rungs(*shape, memory=30 * weights, epochs=9)[-1] == Rung(8, 10_000, 5)
    assert plan_rungs(*shape, memory=weights, epochs=9)[-1] == Rung(8, 10_000, 8)
