"""Explanations: class weights of every linear model, contrasts, the best class, wrong calls."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import (
    EmbeddingModel,
    FactoredModel,
    LinearModel,
    ModelFolder,
    NeighboursModel,
    explain_image,
    load_model,
)
from myriad.models.explanations import Contrast
from myriad.models.factored import ChosenModel
from tests.serving.samples import make_image_model, write_photos


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


MODELS = {
    "linear": LinearModel(draw(5, 7), draw(5)),
    "factored": FactoredModel(draw(5, 2), draw(5), draw(7, 2, seed=1), np.ones(2, np.float32)),
    "chosen": ChosenModel(draw(5, 3), draw(5), np.array([0, 2, 6]), 7),
    "euclidean": EmbeddingModel(draw(3, 7), draw(5, 3, seed=1)),
    "inner products": EmbeddingModel(draw(3, 7), draw(5, 3, seed=1), "linear"),
}


@pytest.mark.parametrize("name", MODELS)
def test_class_weights_give_the_scores(name):
    model, X = MODELS[name], draw(4, 7, seed=2)
    scores = model.scores(X)
    for label in range(model.n_classes):
        weights, bias = model.class_weights(label)
        np.testing.assert_allclose(X @ weights + bias, scores[:, label], rtol=1e-4, atol=1e-4)


def test_models_that_are_not_linear_say_so():
    model = NeighboursModel(draw(6, 7), np.arange(6, dtype=np.int32), 6, 1)
    with pytest.raises(InputError, match="not linear"):
        model.class_weights(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    photos = write_photos(tmp_path_factory.mktemp("photos"))
    return load_model(make_image_model(tmp_path_factory.mktemp("models") / "letters", photos))


@pytest.fixture(scope="module")
def image(folder):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (96, 120), np.uint8)


def test_the_best_class_is_explained(folder, image):
    row = folder.recipe.describe(image)[None]
    scores = folder.model.scores(row)[0]
    found = explain_image(folder, image)
    assert found.label == folder.class_names[scores.argmax()]
    assert found.score == pytest.approx(scores.max(), abs=0.01)
    assert found.heat.sum() + found.bias == pytest.approx(found.score, abs=1e-4)
    assert found.draw(image).shape == (96, 120, 3)
    best = explain_image(folder, image, against=found.label)
    second = folder.class_names[np.argsort(-scores)[1]]
    assert (best.label, best.against) == (second, found.label)


def test_a_contrast_is_the_difference_of_two_classes(folder, image):
    one, two = folder.class_names[:2]
    single = [explain_image(folder, image, label) for label in (one, two)]
    both = explain_image(folder, image, one, two)
    assert both.score == pytest.approx(single[0].score - single[1].score, abs=1e-3)
    np.testing.assert_allclose(both.heat, single[0].heat - single[1].heat, atol=1e-5)


def test_wrong_calls(folder, image):
    with pytest.raises(InputError, match="no class 'zebra'"):
        explain_image(folder, image, "zebra")
    with pytest.raises(InputError, match="itself"):
        Contrast.of(folder, folder.class_names[0], folder.class_names[0])
    rows = ModelFolder(MODELS["linear"], ["a"] * 5, None, {})
    with pytest.raises(InputError, match="not on images"):
        explain_image(rows, image)
