"""The joint objectives, blocked and sampled, against plain SGD fed the same draws."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.objectives import JOINT_OBJECTIVES
from myriad.parallel import open_threads
from myriad.store import ArrayRows, BalancedRows
from myriad.training.engine.chunks import ChunkLayout
from myriad.training.optimiser import OptimiserOptions, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.joint import Joint, WarpOptions
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
    with open_threads(threads) as pool:
        for _ in range(EPOCHS):
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    return trainer


def lists_of(rows):
    if rows.sets is not None:
        return [rows.sets.of(i) for i in range(rows.n_rows)]
    return [[label] for label in rows.labels]


def train_plain(rows, objective, setting, *, warp=None, step=None, tame=None, n_classes=N_CLASSES):
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)]
    return reference.train(
        rows.X,
        lists_of(rows),
        orders,
        n_classes=n_classes,
        objective=objective,
        step=step or (lambda t: setting.eta),
        lam=setting.lam,
        bias_rate=0.1,
        seed=SEED,
        weights=rows.weights,
        tame=tame,
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
        pytest.skip("uses all classes")
    rows, setting = make_rows(), Setting(0.02, lam=lam)
    options = {"objective": objective, "warp": warp, "block": block, "sampled": sampled}
    W, b = train_fast(rows, [setting], **options).weights()
    expected_W, expected_b = train_plain(rows, objective, setting, warp=warp)
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("k", [2, 8])
def test_softmax_leaves_the_largest_wrong_scores_out(k, block):
    rows, setting = make_rows(), Setting(0.02, lam=0.01)
    options = {"objective": "softmax", "block": block}
    W, b = train_fast(rows, [setting], k=k, **options).weights()
    expected_W, expected_b = train_plain(rows, "softmax", setting, warp={"k": k})
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)
    plain, _ = train_fast(rows, [setting], **options).weights()
    assert np.abs(W - plain).max() > 1e-3


def test_softmax_has_fewer_guesses_than_classes():
    with pytest.raises(InputError, match="at most 8"):
        train_fast(make_rows(), [Setting(0.02)], objective="softmax", k=9)


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


def make_several(**more):
    """Return rows of none to three labels, and weights."""
    rng = np.random.default_rng(3)
    plain = make_rows()
    lists = [rng.choice(N_CLASSES, rng.integers(0, 4), replace=False) for _ in range(plain.n_rows)]
    lists[5] = np.arange(N_CLASSES)  # all of them: no wrong class is left
    weights = rng.random(plain.n_rows)
    return ArrayRows(plain.X, LabelSets.from_lists(lists), weights=weights)


SEVERAL = [("multiclass", {}), ("ranking", {}), ("auc", {})] + [
    ("warp", options) for options in WARPS
]


@pytest.mark.parametrize(("objective", "warp"), SEVERAL)
@pytest.mark.parametrize(("block", "sampled"), [(64, False), (64, True)])
def test_several_labels_and_weights_of_rows(objective, warp, block, sampled):
    if sampled and objective in ALL_CLASSES:
        pytest.skip("uses all classes")
    rows, setting = make_several(), Setting(0.02, lam=0.01)
    options = {"objective": objective, "warp": warp, "block": block, "sampled": sampled}
    W, b = train_fast(rows, [setting], **options).weights()
    expected_W, expected_b = train_plain(rows, objective, setting, warp=warp)
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


TAMES = [
    {"adagrad": "class"},
    {"adagrad": "feature"},
    {"average": True},
    {"max_norm": 0.3},
    {"adagrad": "class", "average": True},
    {"adagrad": "feature", "average": True},
    {"adagrad": "class", "max_norm": 0.3},
]


@pytest.mark.parametrize("tame", TAMES)
@pytest.mark.parametrize("objective", JOINT_OBJECTIVES)
@pytest.mark.parametrize(("block", "sampled"), [(7, False), (64, False), (64, True)])
def test_conditioning_equals_plain_steps(objective, tame, block, sampled):
    if sampled and objective in ALL_CLASSES:
        pytest.skip("uses all classes")
    if objective == "softmax" and "max_norm" in tame:
        pytest.skip("refused")
    rows, setting = make_rows(), Setting(0.05, lam=0.01)
    moments = (rows.X**2).mean(axis=0, dtype=np.float64)
    options = {"objective": objective, "block": block, "sampled": sampled, "moments": moments}
    trainer = train_fast(rows, [setting], optimiser=OptimiserOptions(**tame), **options)
    W, b = trainer.weights()
    if tame.get("adagrad") == "feature":
        size = ChunkLayout(block, grams=False).count_rows(rows.dim)
        tame = tame | {"moments": moments, "chunk": size}
    expected_W, expected_b = train_plain(rows, objective, setting, tame=tame)
    assert np.abs(expected_W).max() > 0.01
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("tame", [{}, {"average": True}, {"adagrad": "feature", "average": True}])
@pytest.mark.parametrize("n_classes", [16, 70])
def test_softmax_over_several_panels_of_classes(n_classes, tame):
    rows, setting = make_rows(n=400, dim=37, n_classes=n_classes), Setting(0.05, lam=0.01)
    moments = (rows.X**2).mean(axis=0, dtype=np.float64)
    options = {"objective": "softmax", "n_classes": n_classes, "moments": moments}
    options["optimiser"] = OptimiserOptions(**tame)
    one, two = (train_fast(rows, [setting], threads=n, **options) for n in (1, 2))
    if "adagrad" in tame:
        size = ChunkLayout(one.block, grams=False).count_rows(rows.dim)
        tame = tame | {"moments": moments, "chunk": size}
    expected = train_plain(rows, "softmax", setting, tame=tame, n_classes=n_classes)
    for found, layout in zip(one.weights(), expected, strict=True):
        np.testing.assert_allclose(found, layout, rtol=0, atol=1e-10)
    assert one.V.tobytes() == two.V.tobytes()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("objective", "sampled"), [*((o, False) for o in JOINT_OBJECTIVES), ("ranking", True)]
)
def test_scales_fold_before_they_vanish(objective, sampled, average):
    rows, setting = make_rows(n=800, n_classes=20), Setting(0.05, lam=1.0)  # 0.95 ** 1600
    options = {"objective": objective, "sampled": sampled, "n_classes": 20}
    trainer = train_fast(rows, [setting], optimiser=OptimiserOptions(average=average), **options)
    assert trainer.scales().min() > (0.95**200 if average else 0.95**400)
    expected = train_plain(rows, objective, setting, tame={"average": average}, n_classes=20)
    for found, layout in zip(trainer.weights(), expected, strict=True):
        np.testing.assert_allclose(found, layout, rtol=0, atol=1e-10)


@pytest.mark.parametrize("objective", JOINT_OBJECTIVES)
def test_averages_outlast_many_decays_in_float32(objective):
    rows, setting = make_rows(n=1200), Setting(0.05, lam=1.0)
    options = {"objective": objective, "optimiser": OptimiserOptions(average=True)}
    W, _ = train_fast(rows, [setting], dtype=np.float32, **options).weights()
    expected_W, _ = train_plain(rows, objective, setting, tame={"average": True})
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-5)


def test_an_interrupted_epoch_leaves_weights_in_their_layout():
    rows = make_rows(n=400, dim=37, n_classes=70)
    trainer = train_fast(rows, [Setting(1e-9)], objective="softmax", n_classes=70)
    before = trainer.V.copy()

    def stop(n):
        raise KeyboardInterrupt

    with open_threads(1) as pool, pytest.raises(KeyboardInterrupt):
        trainer.run_epoch(rows, seed=SEED, pool=pool, advance=stop)
    np.testing.assert_allclose(trainer.V, before, rtol=0, atol=0.5 * np.abs(before).max())
    assert trainer.V.tobytes() != before.tobytes()


def test_bounded_norms_are_reached_and_kept():
    rows = make_rows()
    tame = OptimiserOptions(max_norm=0.3)
    W, _ = train_fast(rows, [Setting(0.05)], objective="multiclass", optimiser=tame).weights()
    norms = np.linalg.norm(W, axis=1)
    assert norms.max() <= 0.3 + 1e-9
    assert np.isclose(norms, 0.3).any()


def test_a_row_drawn_twice_makes_two_draws():
    rows = BalancedRows(make_rows(n=20))
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)]
    assert len(np.unique(orders[0])) < 20
    trainer = train_fast(rows, [Setting(0.05)], objective="ranking")
    X, labels = rows.rows.X, [[label] for label in rows.labels]
    doubled = np.concatenate([X[order] for order in orders[:1]])
    # The first epoch, as if its draws were rows of their own that come once.
    alone = Joint([Setting(0.05)], N_CLASSES, rows.dim, objective="ranking", bias_rate=0.1,
                  dtype=np.float64)  # fmt: skip
    with open_threads(1) as pool:
        alone.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    expected_W, _ = reference.train(
        doubled, [labels[i] for i in orders[0]], [np.arange(20)], n_classes=N_CLASSES,
        objective="ranking", step=lambda t: 0.05, lam=0.0, bias_rate=0.1, seed=SEED,
    )  # fmt: skip
    np.testing.assert_allclose(alone.weights()[0], expected_W, rtol=0, atol=1e-10)
    assert trainer.epoch == EPOCHS


@pytest.mark.parametrize("objective", ALL_CLASSES)
def test_objectives_that_look_at_all_classes_cannot_be_sampled(objective):
    with pytest.raises(InputError, match="all classes"):
        Joint([Setting(0.1)], 3, 2, objective=objective, bias_rate=0.1, sampled=True)


@pytest.mark.parametrize("wrong", [{"max_draws": 0}, {"last_violators": -1}])
def test_wrong_options_of_warp(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        WarpOptions(**wrong)
