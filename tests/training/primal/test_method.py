"""Coordinate descent in the primal: the optimum of LIBLINEAR and of plain NumPy, and its bound."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from myriad.errors import InputError
from myriad.objectives import SMOOTH_LOSSES
from myriad.objectives.binary import curvature_bound, smooth_curvature, smooth_step, smooth_value
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context, Primal
from myriad.training.pairs import trainer as pairs
from myriad.training.primal.coordinates import CoordinateDescent
from tests.reference import coordinate_descent as reference

ONE = Context(threads=1)
N_CLASSES, LAM = 3, 0.02


def make_rows(n=90, dim=5):
    rng = np.random.default_rng(4)
    labels = np.arange(n, dtype=np.int32) % N_CLASSES
    X = rng.standard_normal((N_CLASSES, dim))[labels] + 0.8 * rng.standard_normal((n, dim))
    X *= np.geomspace(0.3, 3, dim)
    return ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(N_CLASSES)])


def fit(rows, loss, tol=1e-6, **options):
    method = Primal(loss=loss, tol=tol, center=False, **options)
    return method.fit(rows, None, n_classes=N_CLASSES, context=ONE)


def liblinear(loss, bias):
    """Return LIBLINEAR's solver in the primal; a row has the weight C, the mean here is over n."""
    options = {"C": 1 / (LAM * 90), "tol": 1e-10, "max_iter": 10000, "intercept_scaling": bias}
    if loss == "squared_hinge":
        return LinearSVC(loss="squared_hinge", dual=False, **options)
    return LogisticRegression(solver="liblinear", **options)


@pytest.mark.filterwarnings("ignore:.*liblinear.*")
@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
@pytest.mark.parametrize("bias", [1.0, 2.0])
def test_the_optimum_is_that_of_liblinear(loss, bias):
    rows = make_rows()
    model = fit(rows, loss, lam=LAM, bias=bias).model
    for c in range(N_CLASSES):
        solver = liblinear(loss, bias).fit(rows.X.astype(np.float64), rows.labels == c)
        np.testing.assert_allclose(model.weights[c], solver.coef_[0], rtol=0, atol=2e-3)
        assert model.biases[c] == pytest.approx(solver.intercept_[0], abs=2e-3)


@pytest.mark.parametrize("scale", [1, 64])
def test_the_constant_feature_is_as_large_as_the_rows_by_default(scale):
    rows = make_rows()
    rows = ArrayRows(scale * rows.X, rows.labels, rows.class_names)
    fitted = fit(rows, "squared_hinge", tol=1e-3)
    assert fitted.settings["bias"] == pytest.approx(np.sqrt((rows.X**2).sum(1).mean()), rel=0.01)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_values_and_bounds_enclose_the_optimum_of_plain_numpy(loss):
    rows = make_rows(n=30, dim=3)
    X = rows.X.astype(np.float64)
    found = fit(rows, loss, lam=LAM, bias=0.0).certificate
    rough = fit(rows, loss, lam=LAM, bias=0.0, tol=0.5, epochs=1).certificate
    for c in range(N_CLASSES):
        z = np.where(rows.labels == c, 1.0, -1.0)
        best = reference.minimise(loss, X, z, LAM, 60)
        assert found.primals[c] == pytest.approx(best, rel=1e-5)
        for one in (found, rough):
            assert one.duals[c] <= best * (1 + 1e-6) <= one.primals[c] * (1 + 2e-6)


def test_the_optimum_is_that_of_the_dual():
    rows = make_rows()
    dual = BinaryDual(loss="squared_hinge", lam=LAM, tol=1e-4, center=False)
    expected = dual.fit(rows, None, n_classes=N_CLASSES, context=ONE).certificate
    found = fit(rows, "squared_hinge", lam=LAM).certificate
    np.testing.assert_allclose(found.primals, expected.primals, rtol=1e-3)


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_no_step_raises_the_objective(loss):
    rows = make_rows()
    rows = ArrayRows(20 * rows.X, rows.labels, rows.class_names)  # Newton's steps are too long
    trainer = CoordinateDescent(rows, N_CLASSES, lam=1e-4, bias=1.0, loss=loss)
    values = []
    with open_threads(1) as pool:
        for _ in range(8):
            values.append(trainer.certify(pool).primals)
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
    assert (np.diff(values, axis=0) <= 1e-12).all()


@pytest.mark.parametrize("loss", SMOOTH_LOSSES)
def test_step_and_curvature_are_derivatives(loss):
    number, h = SMOOTH_LOSSES[loss], 1e-5
    for sign in (-1.0, 1.0):
        for score in np.linspace(-6, 6, 41) + 0.013:
            up, down = (smooth_value(number, sign, score + d) for d in (h, -h))
            assert smooth_step(number, sign, score) == pytest.approx(-(up - down) / 2 / h, abs=1e-6)
            up, down = (smooth_step(number, sign, score + d) for d in (h, -h))
            bent = smooth_curvature(number, sign, score)
            assert bent == pytest.approx(-(up - down) / 2 / h, abs=1e-6)
            assert 0 <= bent <= curvature_bound(loss)


def test_lam_is_searched_and_bits_do_not_depend_on_threads():
    rows = make_rows()
    val = ArrayRows(rows.X[:30] + 0.01, rows.labels[:30], rows.class_names)
    method = Primal(tol=0.01)
    found = [
        method.fit(rows, val, n_classes=N_CLASSES, context=Context(threads=threads))
        for threads in (1, 2)
    ]
    assert found[0].settings["lam"] > 0
    assert len(found[0].table) > 1
    assert found[0].model.weights.tobytes() == found[1].model.weights.tobytes()


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(pairs, "MOST_PAIRS", 100)
    with pytest.raises(InputError, match="objective dual"):
        fit(make_rows(), "logistic", lam=LAM)
