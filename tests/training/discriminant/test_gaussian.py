"""Gaussian classes: against their definition, and the space that they span."""

import numpy as np
import pytest

from myriad.errors import WorkError
from myriad.models import LinearModel
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import Context
from myriad.training.discriminant import gaussian
from myriad.training.discriminant.gaussian import find_space, fit_gaussians
from myriad.training.discriminant.moments import ClassMoments
from myriad.training.engine.span import find_span
from tests.reference.gaussian_classes import log_densities


def draw(n_classes, dim, per_class=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)[: n_classes * per_class - 5]  # one is smaller
    scales = np.linspace(0.2, 2.0, dim)
    means = rng.standard_normal((n_classes, dim))
    X = means[y] + scales * rng.standard_normal((len(y), dim))
    return (X + 3.0).astype(np.float32), y.astype(np.int32)


def collect(X, y, n_classes, **options):
    with open_threads(1) as pool:
        return ClassMoments.collect(ArrayRows(X, y, **options), n_classes, pool=pool)


@pytest.mark.parametrize(("n_classes", "dim"), [(5, 9), (14, 6)])
@pytest.mark.parametrize("lam", [0.03, 1.0])
def test_scores_are_log_densities(n_classes, dim, lam):
    X, y = draw(n_classes, dim)
    asked = draw(n_classes, dim, seed=1)[0][:40]
    expected = log_densities(X.astype(np.float64), y, n_classes, lam, asked)
    found = fit_gaussians(collect(X, y, n_classes), lam).to_model().scores(asked)
    # Densities share a constant for each row, the scores leave it out.
    expected -= expected.mean(axis=1, keepdims=True)
    found = found - found.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_a_class_without_rows_comes_last():
    X, y = draw(5, 9)
    model = fit_gaussians(collect(X, np.where(y >= 2, y + 1, y), 6), 0.1).to_model()
    labels, _ = model.rank(X[:20], 6)
    assert (labels[:, -1] == 2).all()


def test_classes_are_computed_some_at_a_time(monkeypatch):
    X, y = draw(14, 6)
    first = fit_gaussians(collect(X, y, 14), 0.1).to_model()
    monkeypatch.setattr(gaussian, "SHARD", 4)
    second = fit_gaussians(collect(X, y, 14), 0.1).to_model()
    np.testing.assert_allclose(second.weights, first.weights, rtol=1e-4, atol=1e-5)


def test_one_row_per_class_is_enough():
    X, _ = draw(8, 5, per_class=2)
    y = np.arange(len(X), dtype=np.int32)
    model = fit_gaussians(collect(X, y, len(X)), 0.1).to_model()
    assert (model.scores(X).argmax(axis=1) == y).mean() > 0.9


@pytest.mark.parametrize("X", [np.ones((12, 3)), np.repeat(np.eye(3), 4, axis=0)])
def test_constant_features_and_classes_without_spread_are_no_error(X):
    y = np.repeat(np.arange(3), 4).astype(np.int32)
    model = fit_gaussians(collect(X.astype(np.float32), y, 3), 0.1).to_model()
    assert np.isfinite(model.weights).all()
    assert np.isfinite(model.biases).all()


def test_a_singular_covariance_is_an_error_with_advice(monkeypatch):
    def fail(*args, **options):
        raise gaussian.LinAlgError

    monkeypatch.setattr(gaussian, "cholesky", fail)
    with pytest.raises(WorkError, match="choose a larger one"):
        fit_gaussians(collect(*draw(5, 9), 5), 0.1)


def test_models_of_projected_rows_become_models_of_rows(monkeypatch):
    X, y = draw(5, 9)
    rows = ArrayRows(X, y)
    space = fit_gaussians(collect(X, y, 5), 0.1).space()
    projected = space.project(rows).read(range(rows.n_rows))
    assert projected.shape[1] <= 4, "five means span four dimensions"
    assert 0.3 < np.square(projected).sum(axis=1).mean() < 3
    rng = np.random.default_rng(2)
    W = rng.standard_normal((5, projected.shape[1])).astype(np.float32)
    model = LinearModel(W, rng.standard_normal(5).astype(np.float32))
    expanded = space.expand(model)
    np.testing.assert_allclose(expanded.scores(X), model.scores(projected), rtol=1e-3, atol=1e-3)
    monkeypatch.setattr(gaussian, "PROJECTED_BYTES", 0)
    some = space.project(rows).select([3, 1, 40])
    assert some.dim == projected.shape[1]
    np.testing.assert_allclose(some.read([0, 2]), projected[[3, 40]], rtol=1e-4, atol=1e-4)


def test_with_more_features_than_rows_the_space_is_that_of_the_span():
    draws = np.random.default_rng(0)
    y = np.repeat(np.arange(5, dtype=np.int32), 8)
    X = (draws.standard_normal((40, 5000)) + 0.3 * draws.standard_normal((5, 5000))[y]).astype("f4")
    rows = ArrayRows(X, y)
    with Context(threads=1).open() as running:
        span = find_span(rows, running)
        found = find_space(rows, 5, 0.1, running)
        expected = find_space(span.rows, 5, 0.1, running)
    assert found.projection.shape == (5000, expected.projection.shape[1])
    inside = expected.transform(span.rows.read(np.arange(40)))
    np.testing.assert_allclose(found.transform(X), inside, atol=1e-3 * np.abs(inside).max())
