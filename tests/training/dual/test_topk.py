"""The top-k SVM in blocks against plain Prox-SDCA; its certificate; its sparse variables."""

import functools

import numpy as np
import pytest
from scipy.optimize import minimize

from myriad.objectives.topk import ALPHA, BETA, TOPK_VARIANTS, conjugate, value
from myriad.parallel import open_threads
from myriad.training import loop
from myriad.training.dual.gap_stopping import GapStopping, plan_check
from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.dual.sparse_duals_kernels import SparseBlock
from myriad.training.dual.topk import TopKAscent
from tests.reference import topk as reference
from tests.reference.topk import dense_columns, make_rows

N_CLASSES, LAM, SEED = 7, 0.02, 3


def train(ascent, pool, **options):
    """Train to a gap; return the certificates on the way."""
    monitor = GapStopping(ascent, **options)
    loop.run(ascent, ascent.rows, monitor, until=monitor.until, seed=0, pool=pool)
    return monitor.history


@functools.cache
def train_plainly(narrow, **options):
    """Return what the reference finds in nine epochs, which does not depend on blocks."""
    rows = make_rows()
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(9)]
    return reference.train(
        rows.X, rows.labels, orders, n_classes=N_CLASSES, support_only=narrow, **options
    )


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize(
    ("k", "variant", "gamma"),
    [
        (1, "alpha", 0.0),
        (3, "alpha", 0.0),
        (3, "beta", 0.0),
        (6, "alpha", 0.0),
        (1, "alpha", 1.0),
        (3, "alpha", 0.5),
        (3, "beta", 0.1),
        (6, "alpha", 5.0),
    ],
)
def test_equals_plain_ascent(k, variant, gamma, block):
    rows, narrow = make_rows(), []
    number = TOPK_VARIANTS[variant]
    options = {"k": k, "variant": number, "lam": LAM, "dtype": np.float64, "block": block}
    ascent = TopKAscent(rows, N_CLASSES, smoothing=gamma, **options)
    with open_threads(1) as pool:
        for epoch in range(9):
            ascent.support_only = ascent.support_only and epoch != 5
            narrow += [epoch] * ascent.support_only
            ascent.run_epoch(ascent.rows, seed=SEED, pool=pool, advance=lambda n: None)
        certificate = ascent.certify(pool)
    assert narrow[0] == 2  # the first two epochs are over all classes, later ones of both kinds
    assert gamma or {3, 4, 6, 7, 8} & set(narrow)
    plain = {"k": k, "lam": LAM, "variant": variant, "gamma": gamma}
    W, A = train_plainly(tuple(narrow), **plain)
    assert np.abs(W).max() > 0.1
    np.testing.assert_allclose(ascent.weights()[0], W, rtol=0, atol=1e-8)
    np.testing.assert_allclose(dense_columns(ascent), A, rtol=0, atol=1e-8)
    primal, dual = reference.values(rows.X, rows.labels, dense_columns(ascent), **plain)
    assert certificate.primals[0] == pytest.approx(primal, rel=1e-12)
    assert certificate.duals[0] == pytest.approx(dual, rel=1e-12)


@pytest.mark.parametrize(("k", "variant"), [(1, "alpha"), (4, "alpha"), (2, "beta")])
def test_rows_begin_with_few_variables(k, variant):
    rows, n_classes = make_rows(n=30, n_classes=26), 26
    options = {"k": k, "variant": TOPK_VARIANTS[variant], "lam": LAM, "dtype": np.float64}
    ascent = TopKAscent(rows, n_classes, **options)
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(2)]
    plain = {"k": k, "lam": LAM, "variant": variant, "n_classes": n_classes}
    weights = []
    with open_threads(1) as pool:
        for epoch in range(2):
            ascent.run_epoch(ascent.rows, seed=SEED, pool=pool, advance=lambda n: None)
            W, A = reference.train(rows.X, rows.labels, orders[: epoch + 1], **plain)
            weights.append(W)
            np.testing.assert_allclose(dense_columns(ascent), A, rtol=0, atol=1e-8)
            np.testing.assert_allclose(ascent.space.V, W, rtol=0, atol=1e-8)
    free, _ = reference.train(rows.X, rows.labels, orders[:1], **plain, start=25)
    assert np.abs(weights[0] - free).max() > 1e-3


def test_every_size_of_block_gives_the_same():
    rows = make_rows(n=300)
    found = []
    for block in (1, 16, 64, 128):
        options = {"k": 2, "variant": ALPHA, "lam": 0.003, "dtype": np.float64, "block": block}
        ascent = TopKAscent(rows, N_CLASSES, **options)
        with open_threads(1) as pool:
            for _ in range(4):
                ascent.run_epoch(ascent.rows, seed=SEED, pool=pool, advance=lambda n: None)
            ascent.certify(pool)
        found.append(ascent.weights()[0])
    for weights in found[1:]:
        np.testing.assert_allclose(weights, found[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", [ALPHA, BETA])
@pytest.mark.parametrize(("bias", "smoothing"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
def test_gap_closes_and_lam_can_change(variant, bias, smoothing):
    rows = make_rows(n=200)
    options = {"k": 3, "variant": variant, "dtype": np.float64, "bias": bias}
    options["smoothing"] = smoothing
    warm, cold = (TopKAscent(rows, N_CLASSES, lam=lam, **options) for lam in (0.1, 0.05))
    with open_threads(1) as pool:
        train(warm, pool, tol=1e-6, epochs=300, frequent=True)
        warm.change_lam(0.05)
        first = train(warm, pool, tol=1e-6, epochs=6, frequent=True)
        history = train(cold, pool, tol=1e-6, epochs=600, frequent=True)
    assert history[-1]["gap"] <= 1e-6
    assert all(row["dual"] <= history[-1]["primal"] for row in history)
    assert (first[0]["epoch"], history[0]["epoch"]) == (6, 6)
    assert first[0]["gap"] < history[0]["gap"]
    assert first[0]["dual"] <= history[-1]["primal"]


@pytest.mark.parametrize("variant", [ALPHA, BETA])
def test_gap_is_estimated_on_the_way(variant):
    rows = make_rows(n=400)
    ascent = TopKAscent(rows, N_CLASSES, k=2, variant=variant, lam=0.02, dtype=np.float64)
    seen = []
    with open_threads(1) as pool:
        for _ in range(23):
            narrow = ascent.support_only
            ascent.run_epoch(ascent.rows, seed=SEED, pool=pool, advance=lambda n: None)
            coming = ascent.support_only
            seen.append((narrow, ascent.estimate, ascent.certify(pool).gap))
            assert not ascent.support_only  # where training continues, all classes are looked at
            ascent.support_only = coming
    kinds = [narrow for narrow, _, _ in seen]
    assert kinds[:3] == [False, False, True]
    assert sum(kinds) > 2 * (23 - sum(kinds))
    for narrow, estimate, gap in seen[2:]:
        assert (0.2 if narrow else 0.5) * gap < estimate < 4 * gap
    assert seen[-1][1] < 0.1 * seen[4][1]


def test_certificates_follow_the_estimates():
    rows, histories = make_rows(n=200), []
    for frequent in (True, False):
        ascent = TopKAscent(rows, N_CLASSES, k=2, variant=ALPHA, lam=0.02, dtype=np.float64)
        with open_threads(1) as pool:
            histories.append(train(ascent, pool, tol=1e-4, epochs=600, frequent=frequent))
    for history, first in zip(histories, (6, 16), strict=True):
        epochs = [row["epoch"] for row in history]
        record = [epoch for epoch in (first * 2**n for n in range(9)) if epoch < epochs[-1]]
        assert epochs[: len(record)] == record
        assert len(epochs) <= len(record) + 3  # few are tried in vain
        assert history[-1]["gap"] <= 1e-4
        assert all(row["gap"] > 1e-4 for row in history[:-1])


def test_losses_are_ordered():
    rng = np.random.default_rng(1)
    for _ in range(300):
        n_classes = int(rng.integers(2, 12))
        scores, label = 3 * rng.standard_normal(n_classes), int(rng.integers(n_classes))
        most = value(scores, label, 1, ALPHA, 0.0)
        assert most == pytest.approx(max(0, np.delete(1 + scores - scores[label], label).max()))
        for k in range(1, n_classes):
            alpha, beta = (value(scores, label, k, variant, 0.0) for variant in (ALPHA, BETA))
            assert alpha <= beta + 1e-12
            assert beta <= most + 1e-12
            assert alpha == pytest.approx(reference.loss(scores, label, k, "alpha"))
            assert beta == pytest.approx(reference.loss(scores, label, k, "beta"))


@pytest.mark.parametrize("variant", ["alpha", "beta"])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
def test_smoothed_losses(variant, gamma):
    rng, number = np.random.default_rng(1), TOPK_VARIANTS[variant]
    for _ in range(40):
        n_classes = int(rng.integers(2, 9))
        scores, label = 3 * rng.standard_normal(n_classes), int(rng.integers(n_classes))
        for k in range(1, n_classes):
            smooth = value(scores, label, k, number, gamma)
            plain = value(scores, label, k, number, 0.0)
            assert plain - gamma / (2 * k) - 1e-12 <= smooth <= plain + 1e-12
            expected = reference.loss(scores, label, k, variant, gamma)
            assert smooth == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("variant", [ALPHA, BETA])
def test_rows_of_no_norm_do_not_keep_the_gap_open(variant):
    rows = make_rows()
    rows.X[:5] = 0.0
    for smoothing in (0.0, 0.5):
        options = {"k": 2, "variant": variant, "lam": 0.1, "smoothing": smoothing}
        ascent = TopKAscent(rows, N_CLASSES, dtype=np.float64, **options)
        with open_threads(1) as pool:
            assert train(ascent, pool, tol=1e-6, epochs=300, frequent=True)[-1]["gap"] <= 1e-6


@pytest.mark.parametrize(("k", "variant"), [(1, "alpha"), (2, "alpha"), (2, "beta")])
def test_smoothed_optimum_is_that_of_a_general_solver(k, variant):
    rows, n_classes, gamma = make_rows(n=40, n_classes=4), 4, 0.5
    options = {"k": k, "variant": TOPK_VARIANTS[variant], "smoothing": gamma}
    ascent = TopKAscent(rows, n_classes, lam=LAM, dtype=np.float64, **options)
    with open_threads(1) as pool:
        train(ascent, pool, tol=1e-8, epochs=600)

    def primal(flat):
        """Return the objective and its gradient: loss and gradient follow from the best x."""
        W = flat.reshape(n_classes, -1)
        total, G = LAM / 2 * (W**2).sum(), LAM * W
        for row, label in zip(rows.X, rows.labels, strict=True):
            s = W @ row
            h = np.delete(1 + s - s[label], label)
            x = reference.project(h / gamma, k, 1.0, variant, rho=0.0)
            total += (x @ h - gamma / 2 * (x @ x)) / rows.n_rows
            G += np.outer(np.insert(x, label, -x.sum()), row) / rows.n_rows
        return total, G.ravel()

    found = minimize(primal, np.zeros(4 * rows.dim), jac=True, method="L-BFGS-B", tol=1e-12)
    assert ascent.certificate.primals[0] == pytest.approx(found.fun, rel=1e-7)
    np.testing.assert_allclose(ascent.weights()[0].ravel(), found.x, atol=1e-3)


def test_conjugates_know_their_domain():
    inside, uneven, far = np.array([0.5, 0.5]), np.array([0.9, 0.1]), np.array([0.6, 0.6])
    for variant in (ALPHA, BETA):
        assert conjugate(inside, 2, variant, 1.0, 0.0) == -1.0
        assert conjugate(inside, 2, variant, 1.0, 3.0) == -0.25
        assert conjugate(uneven, 2, variant, 1.0, 0.0) == np.inf
        assert conjugate(far, 1, variant, 1.0, 0.0) == np.inf
    assert conjugate(np.array([0.4, 0.1]), 2, BETA, 1.0, 0.0) == -0.5
    assert conjugate(np.array([0.4, 0.1]), 2, ALPHA, 1.0, 0.0) == np.inf


def test_sparse_variables_are_kept_in_proportion():
    rng = np.random.default_rng(2)
    n_rows, n_classes = 50, 40
    duals, expected = SparseDuals(n_rows), np.zeros((n_rows, n_classes))
    classes, values = np.empty((10, n_classes), np.int32), np.empty((10, n_classes))
    counts = np.empty(10, np.int32)
    for _ in range(60):
        index = rng.permutation(n_rows)[:10]
        for i, row in enumerate(index):
            chosen = np.sort(rng.permutation(n_classes)[: rng.integers(0, 6)])
            counts[i] = len(chosen)
            classes[i, : len(chosen)], values[i, : len(chosen)] = chosen, rng.random(len(chosen))
            expected[row] = 0
            expected[row, chosen] = values[i, : len(chosen)]
        duals.store(index, SparseBlock(classes, values, counts))
    assert duals.n_nonzero == np.count_nonzero(expected)
    assert duals.nbytes < 12 * 3 * duals.n_nonzero + 12 * 2048 + 16 * n_rows
    for start in range(0, n_rows, 10):
        index = np.arange(start, start + 10)
        duals.load(index, SparseBlock(classes, values, counts))
        for i, row in enumerate(index):
            held = np.zeros(n_classes)
            held[classes[i, : counts[i]]] = values[i, : counts[i]]
            np.testing.assert_array_equal(held, expected[row])


def test_the_smallest_tolerance_can_be_planned_for():
    history = [{"epoch": 1, "gap": 0.5}, {"epoch": 2, "gap": 0.25}]
    assert plan_check(history, 5e-324, False) == 2
