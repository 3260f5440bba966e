"""Stochastic atom descent against proximal gradient, scikit-learn and its own certificate."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.parallel import open_threads
from myriad.progress import Progress
from myriad.store import ArrayRows
from myriad.training import AtomDescent, Checkpoint, Context
from myriad.training.trace.descent import Descent, find_step
from myriad.training.trace.gauges import GAUGES, make_gauge
from myriad.training.trace.method import prior_biases
from tests.reference.gauges import measure, minimise, polar, risk_and_gradient

N, D, C = 400, 15, 6


def uncentred(**options):
    """Return the method for rows as they are, as the peers see them."""
    return AtomDescent(center=False, **options)


def draw(n=N, dim=D, n_classes=C, rank=3, seed=0):
    """Rows whose scores are of low rank, with Gumbel noise: a multinomial logistic truth."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((dim, rank)) @ rng.standard_normal((rank, n_classes))
    X = rng.standard_normal((n, dim))
    y = (0.7 * X @ W + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return X.astype(np.float32), y.astype(np.int32)


@pytest.fixture(scope="module")
def problem():
    X, y = draw()
    b = prior_biases(ArrayRows(X, y), C).astype(np.float64)
    return X, y, b


def weights_of(fitted):
    return fitted.model.to_linear().weights.T.astype(np.float64)


@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("part", [0.5, 0.1])
def test_agrees_with_proximal_gradient(problem, gauge, part):
    X, y, b = problem
    at_zero = risk_and_gradient(np.zeros((D, C)), X, y, b)[1]
    lam = part * polar(at_zero, gauge)
    _, best = minimise(X, y, b, lam, gauge)
    rows = ArrayRows(X.astype(np.float64), y, dtype=np.float64)
    fitted = uncentred(lam=lam, gauge=gauge, batch=64, tol=1e-7, steps=200).fit(
        rows, None, n_classes=C, context=Context(threads=1)
    )
    W = weights_of(fitted)
    value = risk_and_gradient(W, X, y, b)[0] + lam * measure(W, gauge)
    assert value - best < 1e-5 * best
    assert fitted.settings["value"] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("gauge", GAUGES)
def test_bound_is_an_upper_bound_in_every_round(problem, gauge):
    X, y, b = problem
    lam = 0.1 * polar(risk_and_gradient(np.zeros((D, C)), X, y, b)[1], gauge)
    _, best = minimise(X, y, b, lam, gauge)
    method = AtomDescent(
        center=False, lam=lam, gauge=gauge, batch=32, subspace_every=2, steps=3, tol=1e-4
    )
    fitted = method.fit(ArrayRows(X, y), None, n_classes=C, context=Context(threads=1))
    assert len(fitted.history) >= 2
    for row in fitted.history:
        assert row["bound"] >= row["objective"] - best - 1e-6
    assert fitted.history[-1]["bound"] <= 1e-3 * fitted.history[-1]["objective"]
    assert {"epoch", "objective", "bound", "rank", "atoms", "seconds"} <= set(fitted.history[0])


def test_l1_agrees_with_scikit_learn():
    n = 66 * C
    X, _ = draw(n)
    y = np.arange(n).astype(np.int32) % C  # equal priors: the fixed biases do nothing
    X[:, :C] += np.eye(C, dtype=np.float32)[y]
    lam = 0.02
    options = {"C": 1 / (lam * n), "solver": "saga", "fit_intercept": False, "tol": 1e-6}
    # Before scikit-learn 1.8 l1_ratio has no effect without the penalty that 1.8 deprecates.
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    options |= {"penalty": "l1"} if old else {"l1_ratio": 1.0}
    peer = LogisticRegression(max_iter=5000, **options).fit(X.astype(np.float64), y)
    fitted = uncentred(lam=lam, gauge="l1", tol=1e-6).fit(
        ArrayRows(X.astype(np.float64), y, dtype=np.float64),
        None,
        n_classes=C,
        context=Context(threads=1),
    )
    W, b = weights_of(fitted), np.zeros(C)
    values = [risk_and_gradient(V, X, y, b)[0] + lam * measure(V, "l1") for V in (W, peer.coef_.T)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    np.testing.assert_allclose(W, peer.coef_.T, atol=2e-3)
    assert fitted.settings["atoms"] == np.count_nonzero(np.abs(peer.coef_) > 1e-6)


def test_same_bits_on_any_number_of_threads():
    X, y = draw(1500)
    rows = ArrayRows(X, y)
    one, two = (
        uncentred(lam=0.02, batch=128)
        .fit(rows, None, n_classes=C, context=Context(threads=threads))
        .model
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.directions, two.directions)
    np.testing.assert_array_equal(one.strengths, two.strengths)


def test_path_chooses_on_validation_and_finds_the_planted_rank():
    X, y = draw(3700, dim=40, n_classes=20, rank=3)
    train, val = ArrayRows(X[:1000], y[:1000]), ArrayRows(X[1000:], y[1000:])
    method = uncentred()
    fitted = method.fit(train, val, n_classes=20, context=Context(threads=1))
    lams = [row["lam"] for row in fitted.table]
    assert method.is_open
    assert lams == sorted(lams, reverse=True)
    assert fitted.settings["lam"] == max(fitted.table, key=lambda row: row["top1"])["lam"]
    assert 3 <= fitted.settings["rank"] <= 5
    settled = method.settled(fitted)
    assert not settled.is_open
    again = settled.fit(train, None, n_classes=20, context=Context(threads=1))
    assert again.settings["value"] == pytest.approx(fitted.settings["value"], rel=0.02)


@pytest.mark.parametrize("gauge", GAUGES)
def test_relaxed_weights_are_the_best_for_their_part_of_lam_on_the_support(problem, gauge):
    X, y, b = problem
    rows = ArrayRows(X.astype(np.float64), y, dtype=np.float64)
    at_zero = risk_and_gradient(np.zeros((D, C)), X, y, b)[1]
    lam, part = 0.4 * polar(at_zero, gauge), 0.1
    plain, relaxed = (
        uncentred(lam=lam, relax=relax, gauge=gauge, tol=1e-5, steps=500).fit(
            rows, None, n_classes=C, context=Context(threads=1)
        )
        for relax in (1.0, part)
    )
    W = weights_of(relaxed)
    assert relaxed.settings["rank"] <= plain.settings["rank"] < min(D, C)
    assert relaxed.settings["relax"] == part
    assert relaxed.settings["value"] == plain.settings["value"]  # that before
    if gauge == "trace":  # rows expressed in the directions found are a smaller problem
        support = np.linalg.svd(weights_of(plain))[0][:, : plain.settings["rank"]]
        best = minimise(X @ support, y, b, part * lam, gauge)[1]
        value = risk_and_gradient(W, X, y, b)[0] + part * lam * measure(W, gauge)
        assert value == pytest.approx(best, rel=1e-4)
    else:
        assert (weights_of(plain)[W != 0] != 0).all()
        assert measure(W, gauge) > 1.5 * measure(weights_of(plain), gauge)


def test_relaxing_keeps_the_planted_rank_and_predicts_better():
    X, y = draw(8000, dim=40, n_classes=20, rank=3, seed=1)
    train, val, test = (
        ArrayRows(X[part], y[part]) for part in (slice(1000), slice(1000, 3700), slice(3700, 8000))
    )
    plain, relaxed = (
        uncentred(relax=relax).fit(train, val, n_classes=20, context=Context(threads=1))
        for relax in (1.0, None)
    )
    top1 = [
        (fitted.model.rank(test.X, 1)[0][:, 0] == test.labels).mean() for fitted in (plain, relaxed)
    ]
    assert relaxed.settings["relax"] < 1
    assert 3 <= relaxed.settings["rank"] <= 5 < plain.settings["rank"]
    assert top1[1] > top1[0] + 0.01
    assert [row["relax"] for row in relaxed.table]
    assert "relax" not in plain.table[0]


class Broken(Exception):
    pass


@pytest.mark.parametrize("rounds", [1, 4])
def test_resumes_to_the_same_model(tmp_path, rounds):
    X, y = draw(600)
    train, val = ArrayRows(X[:400], y[:400]), ArrayRows(X[400:], y[400:])
    count = 0

    def stop(row):
        nonlocal count
        count += 1
        if count > rounds:
            raise Broken

    method = uncentred(batch=32, tol=1e-4)
    whole = method.fit(train, val, n_classes=C, context=Context(threads=1))
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {}, every=0.0)
    with pytest.raises(Broken):
        uncentred(batch=32, tol=1e-4, callback=stop).fit(
            train, val, n_classes=C, context=Context(threads=1, checkpoint=checkpoint)
        )
    assert checkpoint.path.exists()
    resumed = method.fit(train, val, n_classes=C, context=Context(threads=1, checkpoint=checkpoint))
    np.testing.assert_array_equal(whole.model.directions, resumed.model.directions)
    np.testing.assert_array_equal(whole.model.classes, resumed.model.classes)
    untimed = [
        [{k: v for k, v in row.items() if k != "seconds"} for row in fitted.table]
        for fitted in (whole, resumed)
    ]
    assert untimed[0] == untimed[1]
    finished = method.fit(
        train, val, n_classes=C, context=Context(threads=1, checkpoint=checkpoint)
    )
    np.testing.assert_array_equal(whole.model.strengths, finished.model.strengths)


class Notes(Progress):
    def __init__(self):
        self.sentences = []

    def note(self, sentence):
        self.sentences.append(sentence)


@pytest.mark.parametrize("gauge", GAUGES)
def test_large_lam_predicts_the_prior_and_says_so(problem, gauge):
    X, y, _ = problem
    notes = Notes()
    fitted = uncentred(lam=100.0, gauge=gauge).fit(
        ArrayRows(X, y), None, n_classes=C, context=Context(threads=1, progress=notes)
    )
    assert fitted.settings["rank"] == fitted.settings["atoms"] == 0
    assert "zero model is optimal" in notes.sentences[0]
    assert (fitted.model.rank(X, 1)[0] == np.bincount(y).argmax()).all()
    priors = np.bincount(y, minlength=C) / len(y)
    np.testing.assert_allclose(np.exp(fitted.model.scores(X)[0]), priors, rtol=1e-5)


def test_separable_data_and_a_class_without_rows():
    X = np.repeat(np.eye(3, 5, dtype=np.float32), 20, axis=0)
    y = np.repeat(np.array([0, 1, 3], np.int32), 20)
    fitted = uncentred(lam=1e-6, rounds=5).fit(
        ArrayRows(X, y), None, n_classes=4, context=Context(threads=1)
    )
    assert len(fitted.history) <= 6
    assert (fitted.model.rank(X, 1)[0][:, 0] == y).all()
    assert np.isfinite(fitted.model.biases).all()


def test_rows_that_are_all_zero_and_rows_without_label():
    y = np.array([0, 1, 1, -1], np.int32)
    fitted = uncentred(lam=0.1).fit(
        ArrayRows(np.zeros((4, 3), np.float32), y),
        None,
        n_classes=2,
        context=Context(threads=1),
    )
    assert fitted.settings["rank"] == 0
    np.testing.assert_allclose(np.exp(fitted.model.biases), [1 / 3, 2 / 3], rtol=1e-6)


def test_weights_of_rows_count_like_repeated_rows():
    X, y = draw(200)
    weights = np.where(np.arange(200) < 50, 3.0, 1.0)
    repeated = np.repeat(np.arange(200), weights.astype(int))
    weighted, plain = (
        uncentred(lam=0.05, batch=400, tol=1e-5).fit(
            rows, None, n_classes=C, context=Context(threads=1)
        )
        for rows in (ArrayRows(X, y, weights=weights), ArrayRows(X[repeated], y[repeated]))
    )
    assert weighted.settings["value"] == pytest.approx(plain.settings["value"], rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 0.0},
        {"lam": -1.0},
        {"lam": float("nan")},
        {"relax": 0.0},
        {"relax": 1.5},
        {"gauge": "l2"},
        {"tol": 0.0},
        {"tol": 1.0},
        {"batch": 0},
        {"subspace_every": 0},
        {"rounds": 0},
    ],
)
def test_bad_options(options):
    with pytest.raises(InputError):
        uncentred(**options)


def test_several_labels_and_no_labels_are_refused():
    X, _ = draw(4)
    several = ArrayRows(X, LabelSets.from_lists([[0], [1], [0, 1], [1]]))
    with pytest.raises(InputError, match="one label"):
        uncentred(lam=0.1).fit(several, None, n_classes=2, context=Context(threads=1))
    with pytest.raises(InputError, match="No row"):
        uncentred(lam=0.1).fit(ArrayRows(X), None, n_classes=2, context=Context(threads=1))


def test_gradient_and_latents_too_large_to_keep_give_the_same_model(problem, monkeypatch):
    X, y, _ = problem
    method = uncentred(lam=0.03, tol=1e-4)
    kept = method.fit(ArrayRows(X, y), None, n_classes=C, context=Context(threads=1))
    monkeypatch.setattr("myriad.training.trace.multinomial.CACHE_BYTES", 0)
    monkeypatch.setattr("myriad.training.trace.gauges.features.TILE_BYTES", 100)
    made = method.fit(ArrayRows(X, y), None, n_classes=C, context=Context(threads=1))
    assert made.settings["value"] == pytest.approx(kept.settings["value"], rel=1e-4)
    tiled = uncentred(lam=0.03, gauge="l1_l2").fit(
        ArrayRows(X, y), None, n_classes=C, context=Context(threads=1)
    )
    assert tiled.settings["bound"] <= 0.01 * tiled.settings["value"]


def test_step_is_nearly_flat_and_never_uphill():
    step, slope = find_step(lambda t: 2 * (t - 3.7), first=1.0)
    assert 0.9 * 3.7 < step <= 3.7
    assert slope == -7.4
    assert find_step(lambda t: t + 1.0, first=1.0)[0] == 0.0


@pytest.mark.parametrize("gauge", GAUGES)
def test_polar_of_the_full_gradient(problem, gauge):
    X, y, b = problem
    with open_threads(1) as pool:
        descent = Descent(
            ArrayRows(X, y), b.astype(np.float32), make_gauge(gauge),
            batch=10, subspace_every=1, steps=1, tol=1e-3, seed=0, pool=pool,
        )  # fmt: skip
        state = descent.begin()
    G = risk_and_gradient(np.zeros((D, C)), X, y, b)[1]
    assert state.polar == pytest.approx(polar(G, gauge), rel=1e-4)
    left, right = state.found.left, state.found.right[:, 0]
    u = left[:, 0] if left.ndim == 2 else np.eye(D)[left[0]]
    assert -(u @ G @ right) == pytest.approx(polar(G, gauge), rel=1e-4)
