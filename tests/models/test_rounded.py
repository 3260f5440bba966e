"""Weights in float16 and int8: scores, changes of classes, and files."""

import numpy as np
import pytest

from myriad.codes import learn_bits
from myriad.errors import InputError
from myriad.models import (
    CodedModel,
    LinearModel,
    MergedModel,
    ModelFolder,
    NeighboursModel,
    RoundedModel,
    load_model,
    round_model,
    rounded,
    save_model,
)
from myriad.models.onnx_graph import build_onnx

N_CLASSES, DIM = 7, 40
PRECISIONS = ("float16", "int8")


def make_model(n_classes=N_CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n_classes, DIM)) * 10.0 ** rng.uniform(-9, 6, (n_classes, 1))
    W[0] = 0.0
    return LinearModel(W.astype(np.float32), rng.normal(size=n_classes).astype(np.float32))


def round_plainly(model, precision):
    """Return the rounded weights as float64."""
    W = model.weights.astype(np.float64)
    most = np.abs(W).max(axis=1, keepdims=True)
    most[most == 0] = 1.0
    if precision == "float16":
        return (W / most).astype(np.float16) * most
    return np.round(W / most * 127) * most / 127


X = np.random.default_rng(1).normal(size=(9, DIM)).astype(np.float32)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("decoded", [1, 3 * 4 * DIM, 1 << 20])
def test_scores_are_those_of_rounded_weights(precision, decoded, monkeypatch):
    monkeypatch.setattr(rounded, "DECODED_BYTES", decoded)
    model = make_model()
    found = round_model(model, precision)
    assert isinstance(found, RoundedModel)
    assert found.weights.dtype == precision
    W = round_plainly(model, precision)
    most = np.abs(model.weights).max(axis=1, keepdims=True)
    worst = {"float16": 2.0**-11, "int8": 0.5 / 127}[precision]
    assert (np.abs(W - model.weights) <= 1.0001 * worst * most).all()
    expected = X @ W.T + model.biases
    bound = 1e-5 * np.abs(X).sum(axis=1, keepdims=True) * most.T + 1e-6
    if precision == "float16":  # values in the middle of two may be rounded to either
        bound += 2.0**-11 * np.abs(X) @ np.abs(model.weights).T * 1e-2
    assert (np.abs(found.scores(X) - expected) <= bound).all()
    np.testing.assert_array_equal(found.scores_of(X, slice(2, 5)), found.scores(X)[:, 2:5])
    np.testing.assert_allclose(found.to_linear().scores(X), found.scores(X), rtol=1e-4, atol=1e-5)
    weights, bias = found.class_weights(3)
    np.testing.assert_allclose(weights, W[3], rtol=1e-3, atol=1e-6 * float(most[3, 0]))
    assert bias == model.biases[3]
    labels, best = found.rank(X, 3)
    np.testing.assert_array_equal(labels[:, 0], found.scores(X).argmax(axis=1))
    assert (np.diff(best, axis=1) <= 0).all()


def test_every_finite_float16_is_decoded_exactly():
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    values = values[np.isfinite(values)]
    np.testing.assert_array_equal(rounded.decode(values), values.astype(np.float32))
    assert np.signbit(rounded.decode(values)).sum() == np.signbit(values).sum()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_classes_can_be_removed_merged_and_added(precision):
    model = make_model()
    small = round_model(model, precision)
    scores = small.scores(X)
    kept = small.relabelled(np.array([0, -1, 1, 2, 3, 4, 5], np.int32))
    assert isinstance(kept, RoundedModel)
    np.testing.assert_array_equal(kept.scores(X), np.delete(scores, 1, axis=1))
    merged = small.relabelled(np.array([0, 1, 0, 2, 3, 4, 5], np.int32))
    assert isinstance(merged, MergedModel)
    np.testing.assert_array_equal(merged.scores(X)[:, 0], scores[:, [0, 2]].max(axis=1))
    more = merged.with_classes(make_model(2, seed=1))
    assert more.n_classes == 8
    assert more.model.weights.dtype == precision
    plain = model.relabelled(np.array([0, 1, 0, 2, 3, 4, 5], np.int32))
    np.testing.assert_array_equal(round_model(plain, precision).scores(X), merged.scores(X))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_folders_keep_the_precision(precision, tmp_path):
    model = round_model(make_model(), precision)
    names = [str(c) for c in range(N_CLASSES)]
    folder = ModelFolder(model, names, None, {})
    save_model(tmp_path / "small", folder, card="")
    read = load_model(tmp_path / "small").model
    assert read.weights.dtype == precision
    np.testing.assert_array_equal(read.scores(X), model.scores(X))


def test_models_of_coded_rows_keep_their_code():
    rows = np.random.default_rng(2).standard_normal((50, DIM)).astype(np.float32)
    code = learn_bits(rows, information=np.random.default_rng(3).random(DIM))
    model = CodedModel(code, make_model())
    small = round_model(model, "int8")
    assert small.code is code
    assert isinstance(small.model, RoundedModel)


def test_onnx_graphs_have_float32_weights():
    onnxruntime = pytest.importorskip("onnxruntime")
    model = round_model(make_model(), "int8")
    names = [str(c) for c in range(N_CLASSES)]
    session = onnxruntime.InferenceSession(build_onnx(ModelFolder(model, names, None, {})))
    (scores,) = session.run(["scores"], {"rows": X})
    np.testing.assert_allclose(scores, model.scores(X), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_rounded():
    small = round_model(make_model(), "int8")
    for model in (small, NeighboursModel(X, np.arange(9, dtype=np.int32), 9, 1)):
        with pytest.raises(InputError, match="cannot be rounded"):
            round_model(model, "float16")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": np.zeros((3, 2), np.float32)}, "float16 or int8"),
        ({"weights": np.zeros(3, np.int8)}, "The weights of a rounded model must have the shape"),
        ({"scales": np.zeros(2, np.float32)}, "scales of a rounded model must have the shape"),
        ({"scales": np.zeros(3)}, "array of float32"),
        ({"biases": None}, "must be an array"),
    ],
)
def test_damaged_fields_are_refused(changed, message):
    fields = {
        "weights": np.zeros((3, 2), np.int8),
        "scales": np.ones(3, np.float32),
        "biases": np.zeros(3, np.float32),
    }
    RoundedModel(**fields)
    with pytest.raises(InputError, match=message):
        RoundedModel(**fields | changed)
