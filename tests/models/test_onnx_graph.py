"""Models as ONNX graphs: ONNX Runtime gives the scores that the model gives."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from myriad.codes import learn_bilinear, learn_bits, learn_chosen, learn_hadamard
from myriad.errors import InputError
from myriad.models import (
    ChosenModel,
    CodedModel,
    Decider,
    FactoredModel,
    LinearModel,
    Model,
    ModelFolder,
)
from myriad.models.onnx_graph import build_onnx
from myriad.signatures import OnnxOptions, read_onnx
from myriad.signatures.networks.sessions import start_session
from tests.models.calibration.test_labels import calibrated
from tests.models.folders import make_folder
from tests.signatures.onnx_files import write_network

RNG = np.random.default_rng(0)


def draw_folder(n_classes=7, dim=5, recipe=None):
    weights = RNG.normal(size=(n_classes, dim)).astype(np.float32)
    biases = RNG.normal(size=n_classes).astype(np.float32)
    names = [f"class {c}" for c in range(n_classes)]
    return ModelFolder(LinearModel(weights, biases), names, recipe, {})


@pytest.mark.parametrize("n_rows", [1, 40])
def test_scores_of_rows(n_rows):
    folder = draw_folder()
    session = start_session(build_onnx(folder))
    X = RNG.normal(size=(n_rows, 5)).astype(np.float32)
    (scores,) = session.run(["scores"], {"rows": X})
    np.testing.assert_allclose(scores, folder.model.scores(X), rtol=1e-5, atol=1e-6)
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == folder.class_names


@pytest.mark.parametrize("k", [1, 3, 100])
def test_ranked_labels(k):
    folder = draw_folder()
    X = RNG.normal(size=(20, 5)).astype(np.float32)
    scores, labels = start_session(build_onnx(folder, k)).run(None, {"rows": X})
    expected, best = folder.model.rank(X, k)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(scores, best, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("k", [None, 3])
def test_probabilities(k):
    folder = make_folder(7)
    X = 3 * RNG.normal(size=(20, 6)).astype(np.float32)
    found = Decider(folder)
    session = start_session(build_onnx(folder, k))
    if k is None:
        (probabilities,) = session.run(["probabilities"], {"rows": X})
        np.testing.assert_allclose(probabilities, found.predict_proba(X), rtol=1e-3, atol=1e-6)
    else:
        (probabilities,) = session.run(["top_probabilities"], {"rows": X})
        expected = found.decide(X, k).probabilities
        np.testing.assert_allclose(probabilities, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("k", [None, 3])
def test_probabilities_of_several_labels(k):
    folder, calibration = draw_folder(6, 6), calibrated()
    folder = replace(folder, label_calibration=calibration)
    session = start_session(build_onnx(folder, k))
    X = RNG.normal(size=(20, 6)).astype(np.float32)
    decider = Decider(folder)
    if k is None:
        _, probabilities = session.run(None, {"rows": X})
        np.testing.assert_allclose(probabilities, decider.predict_proba(X), atol=1e-6)
        return
    scores, labels, probabilities = session.run(None, {"rows": X})
    expected = decider.decide(X, k)
    np.testing.assert_array_equal(labels, expected.labels)
    np.testing.assert_allclose(scores, expected.scores, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(probabilities, expected.probabilities, atol=1e-6)


@pytest.mark.parametrize("parts", [(), (3, 2)])
@pytest.mark.parametrize("power", [1.0, 0.5, 0.3])
def test_a_network_and_its_model_become_one_graph(tmp_path, power, parts):
    write_network(tmp_path / "n.onnx", kernel=RNG.normal(size=(3, 5)))
    fields = {"power": power, "parts": parts, "weights": (1.0, 0.5)[: len(parts)]}
    backbone = read_onnx(tmp_path / "n.onnx", OnnxOptions(mean="100"), **fields)
    folder = draw_folder(recipe=backbone)
    session = start_session(build_onnx(folder))
    image = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    (scores,) = session.run(["scores"], {"image": backbone.fit(backbone.cut(image))})
    expected = folder.model.scores(backbone.describe(image)[None])
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    metadata = json.loads(session.get_modelmeta().custom_metadata_map["image"])
    assert metadata["mean"] == [100, 100, 100]
    assert metadata["size"] == [8, 8]


@pytest.mark.parametrize("n_latents", [0, 2])
@pytest.mark.parametrize("kind", ["factored", "chosen"])
def test_models_in_factors(kind, n_latents):
    V, U = (RNG.normal(size=(n, n_latents)).astype(np.float32) for n in (7, 5))
    b, strengths = (RNG.normal(size=n).astype(np.float32) for n in (7, n_latents))
    features = np.array([1, 4])[:n_latents]
    model = (
        FactoredModel(V, b, U, strengths) if kind == "factored" else ChosenModel(V, b, features, 5)
    )
    folder = ModelFolder(model, [f"class {c}" for c in range(7)], None, {})
    X = RNG.normal(size=(9, 5)).astype(np.float32)
    (scores,) = start_session(build_onnx(folder)).run(["scores"], {"rows": X})
    np.testing.assert_allclose(scores, model.scores(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dim", [16, 24, 23])
@pytest.mark.parametrize("kind", ["bits", "features", "bilinear", "turned"])
def test_models_of_coded_rows(kind, dim):
    code = learn_code(kind, dim)
    inner = draw_folder(dim=code.decoded_dim)
    folder = ModelFolder(CodedModel(code, inner.model), inner.class_names, None, {})
    X = RNG.normal(size=(9, dim)).astype(np.float32)
    X[0] = 0
    (scores,) = start_session(build_onnx(folder)).run(["scores"], {"rows": X})
    np.testing.assert_allclose(scores, folder.model.scores(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", ["bits", "features", "bilinear", "turned"])
def test_probabilities_of_coded_rows(kind, several):
    code = learn_code(kind, 24)
    inner = draw_folder(6, code.decoded_dim)
    folder = ModelFolder(CodedModel(code, inner.model), inner.class_names, None, {})
    found = {"label_calibration": calibrated()}
    if not several:
        found = {"calibration": make_folder(6).calibration}
    folder = replace(folder, **found)
    X = RNG.normal(size=(9, 24)).astype(np.float32)
    (found,) = start_session(build_onnx(folder)).run(["probabilities"], {"rows": X})
    np.testing.assert_allclose(found, Decider(folder).predict_proba(X), rtol=1e-3, atol=1e-6)


def learn_code(kind, dim):
    sample = RNG.normal(size=(30, dim)).astype(np.float32)
    information = RNG.random(dim)
    return {
        "bits": lambda: learn_bits(sample, n_bits=16, information=information),
        "features": lambda: learn_chosen(sample, count=10, information=information),
        "bilinear": lambda: learn_bilinear(sample, n_bits=12),
        "turned": lambda: learn_hadamard(sample, n_bits=16, information=information),
    }[kind]()


def test_other_models_are_refused():
    class Odd(Model):
        kind = "odd"
        n_classes = dim = 2

        def scores(self, X):
            return X

        def scores_of(self, X, classes):
            return X

    with pytest.raises(InputError, match="'odd' cannot be exported"):
        build_onnx(ModelFolder(Odd(), ["a", "b"], None, {}))
