"""The blocked and the sampled way against plain SGD fed the same draws."""

import math

import numpy as np
import pytest

from myriad.errors import WorkError
from myriad.measures import LabelSets
from myriad.objectives import BINARY_LOSSES
from myriad.objectives.draws import dot
from myriad.parallel import open_threads
from myriad.randomness import mix, unit
from myriad.store import ArrayRows
from myriad.training.engine.chunks import ChunkLayout
from myriad.training.engine.linear_trainer import UNSEEN_BIAS
from myriad.training.engine.targets import make_targets, sort_by_class
from myriad.training.optimiser import OptimiserOptions, Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.class_columns import make_columns
from myriad.training.sgd.one_vs_rest import OneVsRest
from tests.reference import draws
from tests.reference import one_vs_rest as reference

EPOCHS = 2
SEED = 5


def make_rows(n=230, dim=11, n_classes=7, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, dim)) + 0.8 * rng.standard_normal((n_classes, dim))[labels]
    return ArrayRows(X.astype(np.float32), labels)


def train_fast(rows, setting, *, n_classes=7, loss="hinge", threads=1, epochs=EPOCHS, **options):
    counts = np.bincount(rows.labels.clip(0), minlength=n_classes)
    if rows.sets is not None:
        counts, options["n_rows"] = rows.sets.counts(n_classes), rows.n_rows
    options = {"bias_rate": 0.1, "loss": BINARY_LOSSES[loss], "dtype": np.float64} | options
    trainer = OneVsRest([setting], counts, rows.dim, **options)
    with open_threads(threads) as pool:
        for _ in range(epochs):
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    return trainer.weights()


def lists_of(rows):
    if rows.sets is not None:
        return [rows.sets.of(i) for i in range(rows.n_rows)]
    return [[label] for label in rows.labels]


def train_plain(rows, setting, *, n_classes=7, loss="hinge", epochs=EPOCHS, step=None, tame=None):
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(epochs)]
    return reference.train(
        rows.X,
        lists_of(rows),
        orders,
        n_classes=n_classes,
        step=step or (lambda t: setting.eta),
        beta=setting.beta,
        lam=setting.lam,
        bias_rate=0.1,
        loss=loss,
        seed=SEED,
        weights=rows.weights,
        tame=tame,
    )


@pytest.mark.parametrize("loss", list(BINARY_LOSSES))
@pytest.mark.parametrize("beta", [1.0, 3.0, math.inf])
@pytest.mark.parametrize("lam", [0.0, 0.01])
@pytest.mark.parametrize(
    ("block", "sampled"), [(1, False), (7, False), (64, False), (256, False), (64, True)]
)
def test_equals_plain_sgd(loss, beta, lam, block, sampled):
    rows = make_rows()
    setting = Setting(eta=0.01, beta=beta, lam=lam)
    W, b = train_fast(rows, setting, loss=loss, block=block, sampled=sampled)
    expected_W, expected_b = train_plain(rows, setting, loss=loss)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("schedule", "step"),
    [
        (Schedule("lam"), lambda t: 1 / (0.05 * (t + 1 / (0.05 * 0.1)))),
        (Schedule("decay", t0=40.0), lambda t: 0.1 * 40 / (t + 40)),
    ],
)
@pytest.mark.parametrize("sampled", [False, True])
def test_schedules(schedule, step, sampled):
    rows, setting = make_rows(), Setting(0.1, 2.0, lam=0.05)
    W, b = train_fast(rows, setting, schedule=schedule, sampled=sampled)
    expected_W, expected_b = train_plain(rows, setting, step=step)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sampled", [False, True])
def test_equals_plain_sgd_in_float32(sampled):
    rows = make_rows()
    setting = Setting(eta=0.02, beta=3.0, lam=0.001)
    W, b = train_fast(rows, setting, sampled=sampled, dtype=np.float32)
    expected_W, expected_b = train_plain(rows, setting)
    assert W.dtype == np.float32
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-4)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-4)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("beta", [1.0, math.inf])
def test_several_labels_and_weights_of_rows(beta, sampled):
    rng = np.random.default_rng(3)
    plain = make_rows()
    lists = [rng.choice(7, rng.integers(0, 4), replace=False) for _ in range(plain.n_rows)]
    rows = ArrayRows(plain.X, LabelSets.from_lists(lists), weights=rng.random(plain.n_rows))
    setting = Setting(0.02, beta, lam=0.01)
    W, b = train_fast(rows, setting, sampled=sampled, block=64)
    expected_W, expected_b = train_plain(rows, setting)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


TAMES = [
    {"adagrad": "class"},
    {"adagrad": "feature"},
    {"average": True},
    {"max_norm": 0.2},
    {"adagrad": "class", "average": True},
    {"adagrad": "feature", "average": True},
    {"adagrad": "class", "max_norm": 0.2},
]


@pytest.mark.parametrize("tame", TAMES)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(("block", "sampled"), [(7, False), (64, False), (64, True)])
def test_conditioning_equals_plain_steps(loss, tame, block, sampled):
    rows, setting = make_rows(), Setting(0.03, 3.0, lam=0.01)
    moments = (rows.X**2).mean(axis=0, dtype=np.float64)
    options = {"loss": loss, "block": block, "sampled": sampled, "moments": moments}
    W, b = train_fast(rows, setting, optimiser=OptimiserOptions(**tame), **options)
    if tame.get("adagrad") == "feature":
        size = ChunkLayout(block, grams=False).count_rows(rows.dim)
        tame = tame | {"moments": moments, "chunk": size}
    expected_W, expected_b = train_plain(rows, setting, loss=loss, tame=tame)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b, expected_b, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_classes", [5, 50])
def test_rates_of_features_do_not_depend_on_the_number_of_classes(n_classes):
    # Weights hardly move, so that every row makes a step of size 1 in every class.
    rows = ArrayRows(make_rows(n=100).X, np.arange(100, dtype=np.int32) % n_classes)
    moments = (rows.X**2).mean(axis=0, dtype=np.float64)
    options = {"optimiser": OptimiserOptions(adagrad="feature"), "moments": moments}
    counts = np.bincount(rows.labels, minlength=n_classes)
    options |= {"bias_rate": 0.1, "loss": BINARY_LOSSES["hinge"], "dtype": np.float64}
    trainer = OneVsRest([Setting(1e-12, math.inf)], counts, rows.dim, **options)
    with open_threads(1) as pool:
        trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    expected = moments + (rows.X.astype(np.float64) ** 2).sum(axis=0)
    np.testing.assert_allclose(trainer.rates.squares[0], expected, rtol=1e-5)


@pytest.mark.parametrize("tame", [{"average": True}, {"adagrad": "feature"}])
def test_conditioned_bits_do_not_depend_on_threads(tame):
    rows = make_rows(n=700, n_classes=150)
    options = {"n_classes": 150, "dtype": np.float32, "optimiser": OptimiserOptions(**tame)}
    results = [
        train_fast(rows, Setting(eta=0.05, beta=8.0), threads=threads, **options)[0].tobytes()
        for threads in (1, 3)
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("sampled", [False, True])
def test_scales_fold_before_they_vanish(sampled):
    rows = make_rows()
    setting = Setting(eta=0.1, beta=math.inf, lam=2.0)  # decays by 0.8 a row: 1e-44 in an epoch
    W, _ = train_fast(rows, setting, sampled=sampled)
    expected_W, _ = train_plain(rows, setting)
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("sampled", [False, True])
def test_averages_outlast_many_decays(sampled, dtype, error):
    rows, setting = make_rows(n=1200), Setting(eta=0.05, beta=math.inf, lam=1.0)
    averaged = OptimiserOptions(average=True)
    W, _ = train_fast(rows, setting, sampled=sampled, dtype=dtype, optimiser=averaged)
    expected_W, _ = train_plain(rows, setting, tame={"average": True})
    np.testing.assert_allclose(W, expected_W, rtol=0, atol=error)


@pytest.mark.parametrize("sampled", [False, True])
def test_same_bits_on_any_number_of_threads(sampled):
    rows = make_rows(n=700, n_classes=150)
    options = {"n_classes": 150, "sampled": sampled, "dtype": np.float32}
    results = [
        train_fast(rows, Setting(eta=0.05, beta=8.0), threads=threads, **options)[0].tobytes()
        for threads in (1, 2, 3)
    ]
    assert results[0] == results[1] == results[2]


def test_settings_trained_together_are_as_if_alone():
    rows = make_rows()
    settings = [Setting(0.01, 1.0), Setting(0.03, 4.0, 0.01), Setting(0.01, math.inf)]
    counts = np.bincount(rows.labels)
    together = OneVsRest(settings, counts, rows.dim, bias_rate=0.1, loss=0, dtype=np.float64)
    with open_threads(1) as pool:
        together.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
        together.keep([2, 0])
        together.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    for number, setting in enumerate([settings[2], settings[0]]):
        W, b = train_fast(rows, setting)
        assert together.weights(number)[0].tobytes() == W.tobytes()
        assert together.weights(number)[1].tobytes() == b.tobytes()


def test_a_class_without_rows_stays_at_zero_and_comes_last():
    rows = make_rows(n_classes=6)
    W, b = train_fast(rows, Setting(0.1, math.inf), n_classes=7)
    assert not W[6].any()
    assert b[6] == UNSEEN_BIAS


def test_overflow_names_the_epoch_and_a_smaller_step():
    rows, setting = make_rows(), Setting(1e10, math.inf)
    with pytest.raises(WorkError, match=r"epoch \d+ with eta=1e\+10.*1e\+09"):
        train_fast(rows, setting, loss="squared", epochs=20, dtype=np.float32)


def test_negatives_are_as_frequent_as_requested():
    counts = np.array([10, 30, 60])
    columns = make_columns([Setting(0.1, 0.5)], counts, bias_rate=0.0)
    shares = -np.expm1(columns["log_miss"])
    np.testing.assert_allclose(shares, 0.5 * counts / (100 - counts))
    n = 20000
    drawn = len(draws.negative_positions(SEED, 0, 1, shares[1], n))
    assert abs(drawn / n - shares[1]) < 0.01


def test_draws_equal_plain_integers():
    key = 123
    for value in (0, 1, 2**40, 2**63):
        expected = draws.mix(key, value)
        assert int(mix(np.uint64(key), np.uint64(value))) == expected
        assert float(unit(np.uint64(expected))) == draws.unit(expected)
        key = expected


def test_dot_is_near_the_float64_sum():
    rng = np.random.default_rng(0)
    for n in (1, 7, 64, 4099):
        w, x = rng.standard_normal((2, n)).astype(np.float32)
        exact = w.astype(np.float64) @ x.astype(np.float64)
        bound = 1e-6 * np.abs(w * x).sum() + 1e-12
        assert abs(dot(w, x) - exact) <= bound


def test_rows_are_sorted_by_class():
    rng = np.random.default_rng(0)
    lists = [sorted(rng.choice(7, rng.integers(0, 4), replace=False)) for _ in range(40)]
    rows = ArrayRows(np.ones((40, 2)), LabelSets.from_lists(lists), [str(c) for c in range(7)])
    index = rng.permutation(40)
    for n_classes in (7, 5):  # the last two may have no columns
        positions, bounds = sort_by_class(*make_targets(rows, index, 100), 100, n_classes)
        assert len(bounds) == n_classes + 1
        for c in range(n_classes):
            expected = [100 + position for position, i in enumerate(index) if c in lists[i]]
            assert positions[bounds[c] : bounds[c + 1]].tolist() == expected
