"""Mini-batches of every linear objective, against plain mean gradients fed the same draws."""

import numpy as np
import pytest

from myriad import LinearSGD
from myriad.errors import InputError
from myriad.objectives import BINARY_LOSSES, JOINT_OBJECTIVES
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import SGD, OptimiserOptions
from myriad.training.optimiser import FIXED, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd import batches
from myriad.training.sgd.batches import BinaryBatches, JointBatches
from myriad.training.sgd.method import WarpOptions
from myriad.training.sgd.search import grid
from tests.reference import batches as reference

EPOCHS, SEED, N_CLASSES = 2, 5, 6


def make_rows(n=61, dim=7, weights=None):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + 0.8 * rng.standard_normal((N_CLASSES, dim))[labels]
    return ArrayRows(X, labels, dtype=np.float64, weights=weights)


def run(trainer, rows, threads=1):
    with open_threads(threads) as pool:
        for _ in range(EPOCHS):
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    return trainer


def make(rows, settings, *, objective, dtype=np.float64, loss="hinge", **options):
    options = {"bias_rate": 0.1, "dtype": dtype} | options
    if objective == "ovr":
        counts = np.bincount(rows.labels, minlength=N_CLASSES)
        return BinaryBatches(settings, counts, rows.dim, loss=BINARY_LOSSES[loss], **options)
    return JointBatches(settings, N_CLASSES, rows.dim, objective=objective, **options)


def train_plain(rows, setting, *, objective, batch, step=None, **options):
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)]
    known = {"n_classes": N_CLASSES, "batch": batch, "lam": setting.lam, "bias_rate": 0.1}
    known |= {"step": step or (lambda t: setting.eta), "seed": SEED, "weights": rows.weights}
    labels = [[label] for label in rows.labels]
    if objective == "ovr":
        return reference.train_one_vs_rest(
            rows.X, labels, orders, beta=setting.beta, **known, **options
        )
    return reference.train_joint(rows.X, labels, orders, objective=objective, **known, **options)


@pytest.mark.parametrize("batch", [1, 8, 61])
@pytest.mark.parametrize("objective", JOINT_OBJECTIVES)
def test_joint_objectives_follow_the_mean_gradient(objective, batch):
    rows, setting = make_rows(weights=np.linspace(0.5, 2.0, 61)), Setting(0.3, lam=0.01)
    W, b = run(make(rows, [setting], objective=objective, batch=batch), rows).weights()
    expected_W, expected_b = train_plain(rows, setting, objective=objective, batch=batch)
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("warp", [{"exact_rank": True}, {"last_violators": 2}])
def test_options_of_warp(warp):
    rows, setting = make_rows(), Setting(0.3)
    trainer = make(rows, [setting], objective="warp", batch=8, warp=WarpOptions(**warp))
    expected, _ = train_plain(rows, setting, objective="warp", batch=8, warp=warp)
    np.testing.assert_allclose(run(trainer, rows).weights()[0], expected, rtol=0, atol=1e-10)


def test_softmax_leaves_the_largest_wrong_scores_out():
    rows, setting = make_rows(), Setting(0.3)
    W, _ = run(make(rows, [setting], objective="softmax", batch=8, k=3), rows).weights()
    expected, _ = train_plain(rows, setting, objective="softmax", batch=8, warp={"k": 3})
    np.testing.assert_allclose(W, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("beta", [1.0, np.inf])
@pytest.mark.parametrize("loss", BINARY_LOSSES)
def test_one_vs_rest_follows_the_mean_gradient(loss, beta, batch):
    rows, setting = make_rows(weights=np.linspace(0.5, 2.0, 61)), Setting(0.02, beta, lam=0.01)
    trainer = run(make(rows, [setting], objective="ovr", batch=batch, loss=loss), rows)
    expected_W, expected_b = train_plain(rows, setting, objective="ovr", batch=batch, loss=loss)
    W, b = trainer.weights()
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", ["ovr", "multiclass"])
@pytest.mark.parametrize("batch", [20, 35, 61])
def test_gradients_of_large_batches_are_summed_up(monkeypatch, objective, batch):
    monkeypatch.setattr(batches, "MOST", 16)  # 35 rows are blocks of 16, 16 and 3
    beta = 2.0 if objective == "ovr" else None
    rows, setting = make_rows(), Setting(0.3, beta, lam=0.01)
    W, b = run(make(rows, [setting], objective=objective, batch=batch), rows).weights()
    loss = {"loss": "hinge"} if objective == "ovr" else {}
    expected_W, expected_b = train_plain(rows, setting, objective=objective, batch=batch, **loss)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


def test_schedules_count_batches():
    rows, setting = make_rows(), Setting(0.3, lam=0.01)
    trainer = make(rows, [setting], objective="softmax", batch=8, schedule=Schedule("decay", t0=4))
    more = {"objective": "softmax", "batch": 8, "step": lambda t: 0.3 * 4 / (t + 4)}
    expected, _ = train_plain(rows, setting, **more)
    np.testing.assert_allclose(run(trainer, rows).weights()[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", ["ovr", "warp"])
def test_same_bits_on_any_number_of_threads_and_together(objective):
    beta = 2.0 if objective == "ovr" else None
    rows = make_rows()
    settings = [Setting(0.3, beta), Setting(0.1, beta, lam=0.01)]
    options = {"objective": objective, "batch": 16, "dtype": np.float32}
    plain = ArrayRows(rows.X.astype(np.float32), rows.labels)
    together = run(make(plain, settings, **options), plain, threads=2)
    for number, setting in enumerate(settings):
        alone = run(make(plain, [setting], **options), plain)
        np.testing.assert_array_equal(alone.weights()[0], together.weights(number)[0])
    together.keep([1])
    np.testing.assert_array_equal(alone.weights()[1], together.weights()[1])


def test_training_resumes():
    rows, setting = make_rows(), Setting(0.3)
    first = run(make(rows, [setting], objective="warp", batch=8), rows)
    second = make(rows, [setting], objective="warp", batch=8)
    second.restore(first.state())
    second.epoch = first.epoch
    np.testing.assert_array_equal(run(first, rows).weights()[0], run(second, rows).weights()[0])


@pytest.mark.parametrize("objective", ["ovr", "softmax"])
def test_estimator_learns_in_batches(objective):
    rows = make_rows(n=600)
    model = LinearSGD(objective=objective, batch=32, epochs=20).fit(rows.X, rows.labels)
    assert model.settings_["batch"] == 32
    assert model.score(rows.X, rows.labels) > 0.5


def test_all_rows_are_a_batch():
    rows = make_rows()
    options = {"objective": "softmax", "eta": 1.0, "scale": False, "epochs": 30}
    options |= {"early_stopping": False}
    models = [LinearSGD(batch=b, **options).fit(rows.X, rows.labels) for b in ("all", 1000)]
    assert models[0].settings_["batch"] == "all"
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].score(rows.X, rows.labels) > 0.5


def test_larger_learning_rates_are_tried_for_larger_batches():
    plain, batched = (grid(SGD(objective="softmax"), 9, 0.5, batch=batch) for batch in (1, 64))
    assert min(s.eta for s in plain) == min(s.eta for s in batched)
    assert max(s.eta for s in batched) == pytest.approx(64 * max(s.eta for s in plain), rel=1e-2)


def test_k_belongs_to_softmax():
    with pytest.raises(InputError, match="k belongs to the objective softmax, not to warp"):
        SGD(objective="warp", k=2)


def test_optimisers_of_single_rows_are_refused():
    for options in ({"average": True}, {"adagrad": "class"}, {"max_norm": 1.0}):
        with pytest.raises(InputError, match="batch cannot be combined"):
            SGD(objective="ovr", batch=8, optimiser=OptimiserOptions(**options))
    assert SGD(objective="softmax").schedule == FIXED
    assert not SGD(objective="softmax", batch=8).supports_workers
