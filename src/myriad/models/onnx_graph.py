"""A model as an ONNX graph, for programs that have ONNX Runtime and not this package.

Inputs: ``rows`` (n, dim) float32; for a model of a network's embeddings the network's own input,
one image as `Backbone.fit` makes it. Outputs: ``scores`` (n, n_classes), or with k the best
``top_scores`` and ``top_labels`` (n, k), best first. Class names, and how an image is fitted, are
in the file's metadata as JSON.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.models.coded import CodedModel
from myriad.models.factored import ChosenModel, FactoredModel, LatentModel
from myriad.models.folder import ModelFolder
from myriad.models.linear import LinearModel
from myriad.models.onnx_codes import add_code
from myriad.models.onnx_nodes import PREFIX, Graph
from myriad.serialisation import flatten, size_of
from myriad.signatures import Backbone
from myriad.signatures.sessions import import_onnx

OPSET, IR = 13, 8
MAX_BYTES = 2_000_000_000


def build_onnx(folder: ModelFolder, k: int | None = None) -> bytes:
    """Return a model as an ONNX file.

    Parameters
    ----------
    k : how many of the best classes are ranked; None for the scores of all.
    """
    whole = model = folder.model
    code = None
    if isinstance(model, CodedModel) and model.rounded:
        code, model = model.code, model.model
    if isinstance(model, LatentModel) and model.n_latents == 0:
        model = model.to_linear()
    if not isinstance(model, LinearModel | FactoredModel | ChosenModel):
        raise InputError(f"A model of the kind {model.kind!r} cannot be exported; linear ones can.")
    recipe = folder.recipe if isinstance(folder.recipe, Backbone) else None
    if size_of(whole) + (recipe.graph.nbytes if recipe else 0) > MAX_BYTES:
        raise InputError("The model is larger than the 2 GB that an ONNX file can be.")
    onnx = import_onnx()
    told: dict[str, Any] = {"classes": folder.class_names}
    if recipe is None:
        rows = onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, ["n", whole.dim])
        graph = onnx.helper.make_graph([], "myriad", [rows], [])
        file = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR
        )
        name = "rows"
    else:
        file = onnx.load_model_from_string(recipe.graph.tobytes())
        name = _normalise(Graph(onnx, file), recipe)
        settings = flatten(recipe)[0]
        words = ("size", "mean", "deviation", "crop", "layout", "order")
        told["image"] = {word: settings[word] for word in words}
    if code is not None:
        name = add_code(Graph(onnx, file), name, code)
    _score(Graph(onnx, file), name, model, k)
    onnx.helper.set_model_props(file, {word: json.dumps(value) for word, value in told.items()})
    try:
        onnx.checker.check_model(file)
    except onnx.checker.ValidationError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"The network of the model cannot be extended: {reason}") from None
    return bytes(file.SerializeToString())


def _normalise(graph: Graph, recipe: Backbone) -> str:
    """Add what `Backbone.describe` does with the output of the network."""
    shape = graph.keep(np.array([1, recipe.features], np.int64), "shape")
    x = graph.add("Reshape", [recipe.output, shape], f"{PREFIX}embedding")
    if recipe.power != 1.0:
        size = graph.add("Abs", [x], f"{PREFIX}size")
        power = graph.keep(np.array(recipe.power, np.float32), "power")
        small = graph.add("Pow", [size, power], f"{PREFIX}small")
        sign = graph.add("Sign", [x], f"{PREFIX}sign")
        x = graph.add("Mul", [sign, small], f"{PREFIX}signed")
    return graph.add("LpNormalization", [x], f"{PREFIX}row", axis=1, p=2)


def _lift(graph: Graph, rows: str, model: FactoredModel | ChosenModel) -> str:
    """Add what turns rows into latents."""
    if isinstance(model, ChosenModel):
        features = graph.keep(model.features, "features")
        return graph.add("Gather", [rows, features], f"{PREFIX}latents", axis=1)
    directions = graph.keep(model.directions * model.strengths, "directions")
    return graph.add("MatMul", [rows, directions], f"{PREFIX}latents")


def _score(
    graph: Graph, rows: str, model: LinearModel | FactoredModel | ChosenModel, k: int | None
) -> None:
    """Add ``W x + b``, in factors where the model has them, and the ranking as the outputs."""
    helper, kinds = graph.onnx.helper, graph.onnx.TensorProto
    if isinstance(model, LinearModel):
        weights = model.weights
    else:
        rows, weights = _lift(graph, rows, model), model.classes
    products = graph.add("MatMul", [rows, graph.keep(weights.T, "weights")], f"{PREFIX}products")
    scores = graph.add("Add", [products, graph.keep(model.biases, "biases")], "scores")
    del graph.graph.output[:]
    if k is None:
        outputs = [("scores", kinds.FLOAT, model.n_classes)]
    else:
        k = min(k, model.n_classes)
        wanted = graph.keep(np.array([k], np.int64), "k")
        graph.add("TopK", [scores, wanted], "top_scores", "top_labels", axis=1)
        outputs = [("top_scores", kinds.FLOAT, k), ("top_labels", kinds.INT64, k)]
    for name, kind, width in outputs:
        graph.graph.output.append(helper.make_tensor_value_info(name, kind, ["n", width]))
