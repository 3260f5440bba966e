"""The embedding model: scores, exact and approximate ranking, ensembles, bad fields."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models.embedding import EmbeddingModel, add_index, concatenate, find_recall
from myriad.serialisation import flatten, restore


def make_model(n_classes=50, n_features=12, dim=5, discriminant="euclidean", seed=0):
    rng = np.random.default_rng(seed)
    centres = 3 * rng.standard_normal((8, dim))
    P = centres[rng.integers(0, 8, n_classes)] + rng.standard_normal((n_classes, dim))
    V = rng.standard_normal((dim, n_features))
    return EmbeddingModel(V.astype(np.float32), P.astype(np.float32), discriminant)


def make_queries(n=300, n_features=12):
    return np.random.default_rng(1).standard_normal((n, n_features)).astype(np.float32)


def score_plainly(model, X):
    Z = X.astype(np.float64) @ model.map.T.astype(np.float64)
    P = model.prototypes.astype(np.float64)
    if model.discriminant == "linear":
        return Z @ P.T
    return -((Z[:, None] - P[None]) ** 2).sum(axis=2) + (Z**2).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("discriminant", ["euclidean", "linear"])
def test_scores_are_distances_or_products(discriminant):
    model, X = make_model(discriminant=discriminant), make_queries()
    np.testing.assert_allclose(model.scores(X), score_plainly(model, X), rtol=0, atol=1e-3)
    np.testing.assert_array_equal(model.scores_of(X, slice(3, 9)), model.scores(X)[:, 3:9])


@pytest.mark.parametrize("discriminant", ["euclidean", "linear"])
@pytest.mark.parametrize("n_classes", [3, 5000])
def test_ranks_are_those_of_the_scores(discriminant, n_classes):
    model, X = make_model(n_classes, discriminant=discriminant), make_queries()
    labels, best = model.rank(X, 5)
    k = min(5, n_classes)
    expected = np.argsort(-score_plainly(model, X), axis=1, kind="stable")[:, :k]
    assert labels.shape == best.shape == (300, k)
    assert (labels == expected).mean() > 0.999  # float32 may turn near ties round
    np.testing.assert_allclose(
        best, np.take_along_axis(model.scores(X), labels, axis=1), rtol=0, atol=1e-3
    )
    assert (np.diff(best, axis=1) <= 0).all()


def test_ties_go_to_the_lowest_class():
    P = np.zeros((5000, 2), np.float32)
    model = EmbeddingModel(np.eye(2, dtype=np.float32), P)
    assert model.rank(np.ones((2, 2), np.float32), 3)[0].tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize("discriminant", ["euclidean", "linear"])
def test_an_index_finds_what_it_promises(discriminant):
    model, X = make_model(5000, discriminant=discriminant), make_queries()
    indexed, recall = add_index(model, X)
    assert recall >= 0.95
    assert recall == find_recall(model.rank(X, 5)[0], indexed.rank(X, 5)[0])
    assert indexed.probes < len(indexed.centres) / 2
    labels, best = indexed.rank(X, 5)
    expected = np.take_along_axis(model.scores(X), labels, axis=1)
    np.testing.assert_allclose(best, expected, rtol=0, atol=1e-3)
    np.testing.assert_array_equal(indexed.scores(X), model.scores(X))


def test_an_index_with_small_cells_still_gives_k_classes():
    model, X = make_model(40), make_queries(20)
    indexed, _ = add_index(model, X, recall=0.01)
    labels, _ = indexed.rank(X, 30)
    assert labels.min() >= 0
    assert all(len(set(row)) == 30 for row in labels.tolist())


def test_an_ensemble_adds_scores():
    members = [make_model(seed=seed) for seed in range(3)]
    X = make_queries()
    together = concatenate(members).scores(X)
    np.testing.assert_allclose(together, sum(m.scores(X) for m in members), rtol=0, atol=1e-3)
    with pytest.raises(InputError, match="ensemble"):
        concatenate([members[0], make_model(n_classes=49)])


def test_survives_its_file():
    model, _ = add_index(make_model(400), make_queries())
    again = restore(*flatten(model))
    X = make_queries()
    np.testing.assert_array_equal(again.rank(X, 5)[0], model.rank(X, 5)[0])
    assert again.probes == model.probes


@pytest.mark.parametrize(
    "change",
    [
        {"discriminant": "cubic"},
        {"map": None},
        {"map": np.zeros((4, 12), np.float32)},
        {"map": np.zeros((5, 12))},
        {"prototypes": np.full((50, 5), np.nan, np.float32)},
        {"prototypes": np.zeros((0, 5), np.float32)},
        {"centres": np.zeros((3, 4), np.float32)},
        {"probes": 0},
        {"probes": "all"},
    ],
)
def test_fields_that_do_not_fit(change):
    model = make_model()
    fields = {"map": model.map, "prototypes": model.prototypes, "discriminant": "euclidean"}
    with pytest.raises(InputError):
        EmbeddingModel(**(fields | change))
