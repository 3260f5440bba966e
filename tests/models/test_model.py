"""Scores, rankings and ranks of true labels, computed chunk by chunk."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import LinearModel
from myriad.models import model as model_module
from myriad.models.embedding import EmbeddingModel


def make_model(n_classes=9, dim=5, seed=0):
    rng = np.random.default_rng(seed)
    weights, biases = rng.standard_normal((n_classes, dim)), rng.standard_normal(n_classes)
    return LinearModel(weights.astype(np.float32), biases.astype(np.float32))


@pytest.mark.parametrize("k", [1, 4, 9, 20])
def test_ranks_as_a_full_sort(k, monkeypatch):
    monkeypatch.setattr(model_module, "SCORE_BYTES", 4 * 9 * 3)  # three rows at a time
    model = make_model()
    X = np.random.default_rng(1).standard_normal((10, 5)).astype(np.float32)
    scores = model.scores(X)
    np.testing.assert_allclose(scores, X @ model.weights.T + model.biases, rtol=1e-6)
    labels, best = model.rank(X, k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, 9)]
    np.testing.assert_array_equal(labels, order)
    np.testing.assert_allclose(best, np.take_along_axis(scores, order, axis=1), rtol=1e-6)


@pytest.mark.parametrize("k", [0, -1, 1.5, "two"])
def test_k_must_be_positive(k):
    W = np.eye(3, dtype=np.float32)
    model = LinearModel(W, np.zeros(3, np.float32))
    for asked in (model, EmbeddingModel(W, W)):
        with pytest.raises(InputError, match="k must be a whole number of at least 1"):
            asked.rank(W, k)
    assert model.rank(W, np.int64(2))[0].shape == (3, 2)


def test_ties_go_to_the_lowest_class():
    model = LinearModel(np.zeros((6, 2), np.float32), np.zeros(6, np.float32))
    labels, _ = model.rank(np.ones((1, 2), np.float32), 3)
    np.testing.assert_array_equal(labels[0], [0, 1, 2])


def test_rank_of_truth_agrees_with_ranking():
    model = make_model()
    X = np.random.default_rng(2).standard_normal((30, 5)).astype(np.float32)
    labels, _ = model.rank(X, 9)
    for position in range(9):
        ranks, guesses = model.rank_true_labels(X, labels[:, position])
        assert (ranks == position + 1).all()
        np.testing.assert_array_equal(guesses, labels[:, 0])
