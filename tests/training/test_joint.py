"""The joint objectives, blocked and sampled, against plain SGD fed the same draws."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.objectives import JOINT_OBJECTIVES
from myriad.parallel import team
from myriad.store import ArrayRows
from myriad.training.joint import Joint, WarpOptions
from myriad.training.settings import Setting
from myriad.training.steps import Schedule
from tests.reference import joint as reference

EPOCHS = 2
SEED = 5
N_CLASSES = 9


def make_rows(n=230, dim=11, n_classes=N_CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + 0.8 * rng.standard_normal((n_classes, dim))[labels]
    return ArrayRows(X.astype(np.float32), labels)


def train_fast(rows, settings, *, n_classes=N_CLASSES, threads=1, warp=None, **options):
    options = {"bias_rate": 0.1, "dtype": np.float64} | options
    warp = WarpOptions(**(warp or {}))
    trainer = Joint(settings, n_classes, rows.dim, warp=warp, **options)
    with team(threads) as crew:
        for _ in range(EPOCHS):
            trainer.run_epoch(rows, seed=SEED, team=crew, advance=lambda n: None)
    return trainer


def train_plain(rows, objective, setting, *, warp=None, step=None):
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)]
    return reference.train(
        rows.X,
        rows.labels,
        orders,
        n_classes=N_CLASSES,
        objective=objective,
        step=step or (lambda t: setting.eta),
        lam=setting.lam,
        bias_rate=0.1,
        seed=SEED,
        **(warp or {}),
    )


WARPS = [
    {},
    {"replacement": False},
    {"exact_rank": True},
    {"constant_weight": True},
    {"max_draws": 3},
    {"last_violators": 2},
    {"last_violators": 8, "replacement": False, "constant_weight": True},
]
CASES = [(name, {}) for name in JOINT_OBJECTIVES if name != "warp"] + [("warp", w) for w in WARPS]
BLOCKS = [(1, False), (7, False), (64, False), (256, False), (64, True)]
ALL_CLASSES = ("multiclass", "softmax")


@pytest.mark.parametrize(("objective", "warp"), CASES)
@pytest.mark.parametrize("lam", [0.0, 0.01])
@pytest.mark.parametrize(("block", "sampled"), BLOCKS)
def test_equals_plain_sgd(objective, warp, lam, block, sampled):
    if sampled and objective in ALL_CLASSES:
        pytest.skip("looks at all classes")
    rows, setting = make_rows(), Setting(0.02, lam=lam)
    options = {"objective": objective, "warp": warp, "block": block, "sampled": sampled}
    W, b = train_fast(rows, [setting], **options).weights()
    expected_W, expected_b = train_plain(rows, objective, setting, warp=warp)
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", JOINT_OBJECTIVES)
def test_equals_plain_sgd_in_float32(objective):
    rows, setting = make_rows(), Setting(0.02, lam=0.001)
    W, _ = train_fast(rows, [setting], objective=objective, dtype=np.float32).weights()
    assert W.dtype == np.float32
    expected_W, _ = train_plain(rows, objective, setting)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("schedule", "step"),
    [
        (Schedule("lam"), lambda t: 1 / (0.05 * (t + 1 / (0.05 * 0.1)))),
        (Schedule("decay", t0=40.0), lambda t: 0.1 * 40 / (t + 40)),
    ],
)
@pytest.mark.parametrize("objective", ALL_CLASSES)
def test_schedules(objective, schedule, step):
    rows, setting = make_rows(), Setting(0.1, lam=0.05)
    W, b = train_fast(rows, [setting], objective=objective, schedule=schedule).weights()
    expected_W, expected_b = train_plain(rows, objective, setting, step=step)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", JOINT_OBJECTIVES)
def test_same_bits_on_any_number_of_threads_and_together(objective):
    rows = make_rows(n=400, n_classes=200)
    settings = [Setting(0.05), Setting(0.01, lam=0.01)]
    options = {"objective": objective, "n_classes": 200, "dtype": np.float32}
    alone = [
        train_fast(rows, settings[:1], threads=threads, **options).weights()[0].tobytes()
        for threads in (1, 2, 3)
    ]
    together = train_fast(rows, settings, threads=2, **options)
    assert alone[0] == alone[1] == alone[2] == together.weights(0)[0].tobytes()
    together.keep([1])
    second = train_fast(rows, settings[1:], **options)
    assert together.weights()[0].tobytes() == second.weights()[0].tobytes()


@pytest.mark.parametrize("objective", ALL_CLASSES)
def test_objectives_that_look_at_all_classes_cannot_be_sampled(objective):
    with pytest.raises(InputError, match="all classes"):
        Joint([Setting(0.1)], 3, 2, objective=objective, bias_rate=0.1, sampled=True)


@pytest.mark.parametrize("wrong", [{"max_draws": 0}, {"last_violators": -1}])
def test_wrong_options_of_warp(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        WarpOptions(**wrong)
