"""Tests of rows in the coordinates of their span."""

import numpy as np
import pytest

from myriad.models import LinearModel
from myriad.store import ArrayRows, CentredRows
from myriad.training import BinaryDual, Context
from myriad.training.engine import gram, span
from myriad.training.engine.gram import RowProducts
from myriad.training.engine.span import find_span, is_span_cheaper


@pytest.fixture
def rows():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((30, 200)).astype(np.float32)
    return ArrayRows(X, np.arange(30) % 3)


@pytest.fixture
def running():
    with Context(threads=2, products=RowProducts()).open() as found:
        yield found


def find(rows):
    with Context(threads=2).open() as running:
        return find_span(rows, running)


def test_products_are_kept(rows, monkeypatch):
    monkeypatch.setattr(gram, "BLOCK_BYTES", 7 * 800)  # several blocks
    found = find(rows)
    L = found.rows.read(range(30))
    np.testing.assert_allclose(L @ L.T, rows.X @ rows.X.T, atol=0.02)


@pytest.mark.parametrize("block", [3, 1000])
def test_products_of_later_rows_are_those_of_rows_with_their_own_mean(
    rows, running, monkeypatch, block
):
    monkeypatch.setattr(gram, "BLOCK_BYTES", block * 800)
    monkeypatch.setattr(gram, "SHARE", 2)
    rows.X += 3.0
    for chosen, others in (([7, 2, 9, 9], [1, 2]), (range(20, 3, -1), range(30)), ([0], [29])):
        mean = rows.X[np.asarray(chosen)].mean(axis=0)
        parts = [CentredRows(rows.select(some), mean) for some in (chosen, others)]
        products = running.products
        found = products.multiply(*parts, pool=running.pool, progress=running.progress)
        X, Y = (rows.X[np.asarray(some)] - mean for some in (chosen, others))
        np.testing.assert_allclose(found, X @ Y.T, atol=1e-2)


def test_rows_of_another_source_are_distinguished(rows, running):
    other = ArrayRows(-2 * rows.X, rows.labels)
    options = {"pool": running.pool, "progress": running.progress}
    running.products.multiply(rows, **options)
    found = running.products.multiply(rows.select([1, 2]), other.select([1]), **options)
    np.testing.assert_allclose(found, -2 * rows.X[[1, 2]] @ rows.X[[1]].T, rtol=1e-5, atol=1e-3)
    wider = ArrayRows(np.hstack([rows.X, rows.X]), rows.labels)
    found = running.products.multiply(wider, **options)
    np.testing.assert_allclose(found, 2 * rows.X @ rows.X.T, rtol=1e-5, atol=1e-3)


def test_each_pair_of_rows_is_multiplied_once(rows, running, monkeypatch):
    find_span(CentredRows(rows.select(range(25)), rows.X[:25].mean(axis=0)), running)
    read, n_read = ArrayRows._fill, []
    monkeypatch.setattr(
        ArrayRows, "_fill", lambda *given: n_read.append(len(given[1])) or read(*given)
    )
    find_span(CentredRows(rows, rows.X.mean(axis=0)), running)
    # The five new rows, the others once to be multiplied by them, and all to change the mean.
    assert sum(n_read) == 5 + 25 + 30


def test_scores_are_kept_when_a_model_is_expanded(rows, running):
    found = find(rows)
    draws = np.random.default_rng(1)
    reduced = LinearModel(draws.standard_normal((3, 30)).astype(np.float32), np.ones(3, np.float32))
    model = found.expand(reduced, running.pool)
    scores = reduced.scores(found.rows.read(range(30)))
    np.testing.assert_allclose(model.scores(rows.X), scores, atol=0.02)
    other = ArrayRows(draws.standard_normal((5, 200)).astype(np.float32), np.zeros(5, int))
    projected = found.project(other, running)
    np.testing.assert_allclose(
        model.scores(other.X), reduced.scores(projected.read(range(5))), atol=0.02
    )


def test_dependent_rows_have_a_span(rows):
    centred = CentredRows(rows.select([*range(30), 3, 3]), rows.X.mean(axis=0))
    assert np.isfinite(find(centred).factor).all()


@pytest.mark.parametrize("n_distinct", [1, 3])
def test_rows_of_few_dimensions_have_a_span(n_distinct):
    draws = np.random.default_rng(0)
    X = np.tile(draws.standard_normal((300, n_distinct)).astype(np.float32), 400)
    factor = find(CentredRows(ArrayRows(X, np.arange(300) % 3), X.mean(axis=0))).factor
    centred = (X - X.mean(axis=0)).astype(np.float64)
    products = centred @ centred.T
    np.testing.assert_allclose(factor @ factor.T, products, atol=2e-3 * products.max())


def test_the_optimum_in_the_span_is_that_with_all_features(rows, monkeypatch):
    method = BinaryDual(loss="squared_hinge", lam=0.5, tol=1e-5, center=False)
    reduced = method.fit(rows, None, n_classes=3).model
    monkeypatch.setattr(span, "MIN_GAIN", np.inf)
    direct = method.fit(rows, None, n_classes=3).model
    np.testing.assert_allclose(reduced.weights, direct.weights, atol=1e-3)
    np.testing.assert_allclose(reduced.biases, direct.biases, atol=1e-3)


def test_the_span_is_cheaper_where_there_are_more_features_than_rows():
    assert is_span_cheaper(1000, 100_000, 10)
    assert not is_span_cheaper(1000, 1000, 10)
    assert not is_span_cheaper(10_000, 100_000, 3), "so few classes that an epoch is cheaper"
    assert not is_span_cheaper(1_000_000, 10_000_000, 1000), "more than the memory"
    assert not is_span_cheaper(1000, 100_000, 10, memory=10_000_000)
