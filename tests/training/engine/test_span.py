"""Tests of rows in the coordinates of their span."""

import numpy as np
import pytest

from myriad.models import LinearModel
from myriad.progress import SILENT
from myriad.store import ArrayRows, CentredRows
from myriad.training import BinaryDual, Context
from myriad.training.engine import span
from myriad.training.engine.span import find_span, pays


@pytest.fixture
def rows():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((30, 200)).astype(np.float32)
    return ArrayRows(X, np.arange(30) % 3)


def find(rows):
    with Context(threads=2).open() as running:
        return find_span(rows, pool=running.pool, progress=SILENT)


def test_products_are_kept(rows, monkeypatch):
    monkeypatch.setattr(span, "BLOCK_BYTES", 7 * 800)  # several blocks
    found = find(rows)
    L = found.rows.read(range(30))
    np.testing.assert_allclose(L @ L.T, rows.X @ rows.X.T, atol=0.02)


def test_scores_are_kept_when_a_model_is_expanded(rows):
    found = find(rows)
    draws = np.random.default_rng(1)
    reduced = LinearModel(draws.standard_normal((3, 30)).astype(np.float32), np.ones(3, np.float32))
    model = found.expand(reduced)
    scores = reduced.scores(found.rows.read(range(30)))
    np.testing.assert_allclose(model.scores(rows.X), scores, atol=0.02)
    other = ArrayRows(draws.standard_normal((5, 200)).astype(np.float32), np.zeros(5, int))
    projected = found.project(other)
    np.testing.assert_allclose(
        model.scores(other.X), reduced.scores(projected.read(range(5))), atol=0.02
    )


def test_dependent_rows_have_a_span(rows):
    centred = CentredRows(rows.select([*range(30), 3, 3]), rows.X.mean(axis=0))
    assert np.isfinite(find(centred).factor).all()


def test_the_optimum_in_the_span_is_that_with_all_features(rows, monkeypatch):
    method = BinaryDual(loss="squared_hinge", lam=0.5, tol=1e-5, center=False)
    reduced = method.fit(rows, None, n_classes=3).model
    monkeypatch.setattr(span, "MIN_GAIN", np.inf)
    direct = method.fit(rows, None, n_classes=3).model
    np.testing.assert_allclose(reduced.weights, direct.weights, atol=1e-3)
    np.testing.assert_allclose(reduced.biases, direct.biases, atol=1e-3)


def test_it_pays_where_there_are_more_features_than_rows():
    assert pays(1000, 100_000, 10)
    assert not pays(1000, 1000, 10)
    assert not pays(10_000, 100_000, 3), "so few classes that an epoch is cheaper"
    assert not pays(1_000_000, 10_000_000, 1000), "more than the memory"
    assert not pays(1000, 100_000, 10, memory=10_000_000)
