"""Screened ranking: the same classes and scores as without screening."""

import pickle

import numpy as np
import pytest

from myriad.byte_tiles import is_available
from myriad.models import LinearModel, linear, screening
from myriad.models.model import Model
from myriad.models.ranking import scan_top

pytestmark = pytest.mark.skipif(not is_available(), reason="needs products of bytes")

N, CLASSES, FEATURES = screening.BLOCK + 7, 613, 75


@pytest.fixture(autouse=True)
def _screen_few(monkeypatch):
    for name in ("SCREENED_ROWS", "SCREENED_CLASSES", "SCREENED_FEATURES", "SCREENED_WORK"):
        monkeypatch.setattr(linear, name, 1)
    monkeypatch.setattr(screening, "MOST_SCORED", 1.0)


def draw(scale=1.0):
    rng = np.random.default_rng(0)
    W = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    X = rng.standard_normal((N, FEATURES), dtype=np.float32) + W[rng.integers(0, CLASSES, N)]
    W[3], W[4, 1:] = 0.0, 0.0  # one number that is not 0: as large as a byte can be
    biases = rng.standard_normal(CLASSES, dtype=np.float32)
    return np.float32(scale) * X, LinearModel(W, biases)


def assert_same(model, X, k):
    for found, expected in zip(model.rank(X, k), Model.rank(model, X, k), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("largest", [1, 40])
def test_whole_numbers_give_the_same_bits_and_the_lowest_class_on_ties(k, largest):
    rng = np.random.default_rng(largest)
    W = rng.integers(-largest, largest + 1, (CLASSES, FEATURES)).astype(np.float32)
    X = rng.integers(-largest, largest + 1, (N, FEATURES)).astype(np.float32)
    W[5] = W[100] = W[600]
    W[7], X[3] = 0.0, 0.0
    biases = rng.integers(-3, 4, CLASSES).astype(np.float32)
    assert_same(LinearModel(W, biases), X, k)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_scores_are_bit_for_bit_those_of_scoring_every_class_in_this_way(scale):
    X, model = draw(scale)
    scores = np.array([[screening.add_products(x, w) for w in model.weights] for x in X[:40]])
    scores += model.biases
    labels, best = np.empty((40, 5), np.int32), np.empty((40, 5), np.float32)
    scan_top(scores, labels, best)
    found = model.rank(X, 5)
    np.testing.assert_array_equal(found[0][:40], labels)
    np.testing.assert_array_equal(found[1][:40], best)
    np.testing.assert_allclose(found[1], Model.rank(model, X, 5)[1], rtol=1e-5)


def test_most_classes_are_excluded():
    X, model = draw()
    rounded = screening.round_weights(model.weights, model.biases)
    n = screening.BLOCK
    found = screening.Found(
        np.full((n, 5), CLASSES, np.int32),
        np.full((n, 5), -np.inf, np.float32),
        np.empty((n, screening.WAITING), np.int32),
        np.empty((n, screening.WAITING), np.float32),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )
    rows = screening.round_rows(X[:n])
    screening.screen(X[:n], model.weights, model.biases, rows, rounded, found)
    assert found.scored.mean() < 0.15 * CLASSES


def test_the_bound_holds():
    X, model = draw()
    rounded = screening.round_weights(model.weights, model.biases)
    rows = screening.round_rows(X)
    exact = X.astype(np.float64) @ model.weights.T.astype(np.float64) + model.biases
    bytes_ = rounded.panels.transpose(0, 2, 1, 3).reshape(len(rounded.sums), -1)[:CLASSES]
    middle = rows.rows.astype(np.int64) @ bytes_.astype(np.int64).T - rounded.sums[:CLASSES]
    middle = middle * rows.scales[:, None].astype(float) * rounded.factors[:CLASSES].astype(float)
    bound = np.outer(rows.norms, rounded.errors[:CLASSES])
    bound += np.outer(rows.errors, rounded.norms[:CLASSES])
    assert (np.abs(middle + model.biases - exact) <= bound).all()


def test_more_classes_wait_than_there_is_room_for():
    rng = np.random.default_rng(0)
    W = np.repeat(rng.integers(-9, 10, (1, FEATURES)), 3 * screening.WAITING, axis=0)
    W[: screening.WAITING // 2] += 1
    X = rng.integers(-9, 10, (3, FEATURES)).astype(np.float32)
    assert_same(LinearModel(W.astype(np.float32), np.zeros(len(W), np.float32)), X, 2)


def test_where_bounds_exclude_too_little_the_rest_is_ranked_by_the_product(monkeypatch):
    monkeypatch.setattr(screening, "MOST_SCORED", 0.0)
    X, model = draw()
    labels, best = np.zeros((N, 5), np.int32), np.zeros((N, 5), np.float32)
    rounded = screening.round_weights(model.weights, model.biases)
    arguments = X, model.weights, model.biases, rounded, labels, best
    assert screening.rank_screened(*arguments) == screening.BLOCK
    np.testing.assert_array_equal(model.rank(X, 5)[0], Model.rank(model, X, 5)[0])


@pytest.mark.parametrize("large", ["rows", "weights", "biases"])
def test_numbers_that_might_overflow_are_not_screened(large):
    X, model = draw(1e30 if large == "rows" else 1.0)
    if large == "weights":
        model = LinearModel(model.weights * np.float32(1e18), model.biases)
    if large == "biases":
        model = LinearModel(model.weights, model.biases * np.float32(1e18))
    assert_same(model, X, 3)


def test_weights_as_bytes_are_not_pickled():
    X, model = draw()
    before = len(pickle.dumps(model))
    model.rank(X, 5)
    assert len(pickle.dumps(model)) == before
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.rank(X, 5)[0], model.rank(X, 5)[0])
