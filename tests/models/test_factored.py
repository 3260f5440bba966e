"""Factored models: the scores of the weights multiplied out, and fields that do not fit."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import ChosenModel, FactoredModel


def draw(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def make_factored(**changes):
    fields = {
        "classes": draw(5, 2), "biases": draw(5), "directions": draw(7, 2), "strengths": draw(2)
    }  # fmt: skip
    return FactoredModel(**(fields | changes))


def make_chosen(**changes):
    fields = {
        "classes": draw(5, 2), "biases": draw(5), "features": np.array([1, 4]), "n_features": 7
    }  # fmt: skip
    return ChosenModel(**(fields | changes))


@pytest.mark.parametrize("make", [make_factored, make_chosen])
def test_scores_are_those_of_the_linear_model(make):
    model, X = make(), draw(9, 7)
    linear = model.to_linear()
    assert (model.n_classes, model.dim, model.n_latents) == (5, 7, 2)
    np.testing.assert_allclose(model.scores(X), linear.scores(X), atol=1e-5)
    np.testing.assert_allclose(model.scores_of(X, slice(1, 3)), linear.scores(X)[:, 1:3], atol=1e-5)
    np.testing.assert_array_equal(model.rank(X, 3)[0], linear.rank(X, 3)[0])


def test_rank_zero_scores_the_biases():
    model = make_factored(classes=draw(5, 0), directions=draw(7, 0), strengths=draw(0))
    np.testing.assert_array_equal(model.scores(draw(3, 7)), np.tile(model.biases, (3, 1)))


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": draw(5, 3)},
        {"classes": draw(5, 2).astype(np.float64)},
        {"classes": draw(0, 2), "biases": draw(0)},
        {"biases": draw(4)},
        {"biases": 3},
        {"directions": draw(7, 3)},
        {"directions": draw(7)},
        {"directions": draw(0, 2)},
        {"strengths": draw(2, 1)},
        {"strengths": "strong"},
    ],
)
def test_bad_factored_fields(changes):
    with pytest.raises(InputError):
        make_factored(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"features": np.array([1, 7])},
        {"features": np.array([-1, 4])},
        {"features": np.array([4, 1])},
        {"features": np.array([1.0, 4.0])},
        {"features": [1, 4]},
        {"features": np.array([1, 2, 3])},
        {"n_features": 0},
        {"n_features": "7"},
        {"n_features": True},
    ],
)
def test_bad_chosen_fields(changes):
    with pytest.raises(InputError):
        make_chosen(**changes)
