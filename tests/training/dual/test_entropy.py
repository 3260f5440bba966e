"""The top-k entropy loss in the dual: its steps, its certificate, and scikit-learn's softmax."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from myriad import TopKSVM
from myriad.errors import InputError
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import TopK, loop
from myriad.training.dual.entropy import EntropyAscent
from myriad.training.dual.entropy_kernels import Workspace, find_fractions
from myriad.training.dual.gap_stopping import GapStopping
from tests.reference import topk_entropy as reference
from tests.reference.topk import dense_columns, make_rows

N_CLASSES, LAM, SEED = 7, 0.02, 3


def find(h, k, kappa, drop=0.0):
    """Return the variables of the wrong classes; the label is the last class."""
    work = Workspace(*np.empty((4, len(h) + 1)))
    work.h[:-1], work.h[-1] = h, -1e30
    z = np.empty(len(h) + 1)
    total = find_fractions(work, z, len(h), k, kappa, drop)
    assert total == pytest.approx(z.sum(), rel=1e-12)
    assert z[-1] == 0
    return z[:-1]


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("spread", [0.1, 4.0, 60.0])
def test_steps_solve_their_problem(kappa, spread):
    rng = np.random.default_rng(2)
    for n_wrong in (1, 2, 6, 11):
        h = spread * rng.standard_normal(n_wrong)
        for k in {1, min(2, n_wrong), n_wrong}:
            expected = reference.shares(h, k, kappa)
            np.testing.assert_allclose(find(h, k, kappa), expected, atol=1e-8)


@pytest.mark.parametrize("k", [1, 3])
def test_extreme_rows(k):
    for h in (np.full(5, -900.0), np.r_[900.0, np.zeros(4)], np.full(5, 900.0), np.zeros(5)):
        for kappa in (0.0, 1e-12, 1.0, 1e9):
            z = find(h, k, kappa)
            assert np.isfinite(z).all()
            assert (z >= 0).all()
            assert z.sum() <= 1 + 1e-12
            assert z.max() <= z.sum() / k + 1e-15


def test_few_variables_are_dropped_and_the_rest_stays_inside():
    h = np.random.default_rng(0).standard_normal(200) * 4
    for k in (1, 4):
        full, sparse = find(h, k, 0.3), find(h, k, 0.3, drop=1e-3)
        assert np.count_nonzero(full) == 200
        assert 4 <= np.count_nonzero(sparse) < 200
        assert full.sum() * (1 - 1e-3) <= sparse.sum() <= full.sum()
        assert sparse.max() <= sparse.sum() / k + 1e-15


@pytest.mark.parametrize(("k", "block"), [(1, 5), (3, 1), (3, 64)])
def test_equals_plain_ascent(k, block):
    rows = make_rows(n=14)
    options = {"k": k, "lam": LAM, "dtype": np.float64, "block": block, "tol": 1e-12}
    ascent = EntropyAscent(rows, N_CLASSES, **options)
    with open_threads(1) as pool:
        for _ in range(2):
            ascent.run_epoch(ascent.rows, seed=SEED, pool=pool, advance=lambda n: None)
        certificate = ascent.certify(pool)
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(2)]
    W, A = reference.train(rows.X, rows.labels, orders, n_classes=N_CLASSES, k=k, lam=LAM)
    assert np.abs(W).max() > 0.1
    np.testing.assert_allclose(ascent.weights()[0], W, rtol=0, atol=1e-6)
    np.testing.assert_allclose(dense_columns(ascent), A, rtol=0, atol=1e-6)
    primal, dual = reference.values(rows.X, rows.labels, dense_columns(ascent), k=k, lam=LAM)
    assert certificate.primals[0] == pytest.approx(primal, rel=1e-8)
    assert certificate.duals[0] == pytest.approx(dual, rel=1e-10)


@pytest.mark.parametrize(("k", "bias"), [(1, 0.0), (1, 1.0), (3, 0.0)])
def test_gap_closes_and_lam_can_change(k, bias):
    rows = make_rows(n=200)
    options = {"k": k, "bias": bias, "dtype": np.float64, "tol": 1e-7}
    warm, cold = (EntropyAscent(rows, N_CLASSES, lam=lam, **options) for lam in (0.1, 0.03))
    histories = []
    with open_threads(1) as pool:
        for ascent in (warm, cold, warm):
            if histories:
                warm.change_lam(0.03)
            monitor = GapStopping(ascent, tol=1e-7, epochs=300, frequent=True)
            loop.run(ascent, rows, monitor, until=monitor.until, seed=0, pool=pool)
            histories.append(monitor.history)
    for history in histories:
        assert history[-1]["gap"] <= 1e-7
        assert 0.2 * history[-1]["gap"] < history[-1]["estimate"] < 1e-5
    assert warm.certificate.primals[0] == pytest.approx(cold.certificate.primals[0], rel=1e-6)


@pytest.mark.parametrize("lam", [0.1, 0.001])
def test_one_guess_is_multinomial_logistic_regression(lam):
    rows = make_rows(n=200)
    model = TopKSVM(variant="entropy", lam=lam, tol=1e-8, center=False, max_epochs=1000)
    model.fit(rows.X, rows.labels)
    peer = LogisticRegression(C=1 / (lam * 200), fit_intercept=False, tol=1e-9, max_iter=10_000)
    W = peer.fit(rows.X, rows.labels).coef_
    np.testing.assert_allclose(model.coef_, W, atol=1e-3 * np.abs(W).max())


def test_threads_and_kernels_change_nothing():
    rows, found = make_rows(n=150, dtype=np.float32), []
    for threads in (1, 2):
        ascent = EntropyAscent(rows, N_CLASSES, k=2, lam=LAM, tol=1e-3)
        with open_threads(threads) as pool:
            for _ in range(3):
                ascent.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
        found.append(ascent.space.V.copy())
    np.testing.assert_array_equal(*found)
    options = {"k": 2, "variant": "entropy", "lam": LAM, "tol": 1e-6, "center": False}
    plain = TopKSVM(**options).fit(rows.X, rows.labels)
    kernel = TopKSVM(**options, kernel=lambda A, B: A @ B.T).fit(rows.X, rows.labels)
    assert kernel.primal_ == pytest.approx(plain.primal_, rel=1e-5)


def test_rows_of_no_norm_do_not_keep_the_gap_open():
    rows = make_rows()
    rows.X[:5] = 0.0
    model = TopKSVM(variant="entropy", k=2, lam=0.1, tol=1e-6, center=False)
    assert model.fit(rows.X, rows.labels).gap_ <= 1e-6


def test_smoothing_is_for_the_hinge():
    with pytest.raises(InputError, match="variants alpha and beta"):
        TopK(variant="entropy", smoothing=1.0)


def test_untrained_loss_is_that_of_zero_weights():
    rows = ArrayRows(np.ones((12, 5), np.float32), np.arange(4, dtype=np.int32).repeat(3))
    cases = [("entropy", 0.0), ("alpha", 0.5), ("beta", 2.0), ("alpha", 9.0)]
    for variant, smoothing in cases:
        method = TopK(k=2, variant=variant, smoothing=smoothing)
        with open_threads(1) as pool:
            primals = method.make(rows, 4, 0.1).certify(pool).primals
        expected = method.untrained_loss(np.bincount(rows.labels), 12)
        assert expected == pytest.approx(primals.sum())
