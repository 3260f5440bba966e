"""A model as an ONNX graph, for programs that use ONNX Runtime without this package.

Inputs: ``rows`` (n, dim) float32; for a model of a network's embeddings the network's own input,
one image as `Backbone.fit` prepares it. Outputs: ``scores`` (n, n_classes), or with k the best
``top_scores`` and ``top_labels`` (n, k), best first. A calibrated model also has ``probabilities``
or ``top_probabilities`` of the same shape; where rows may have several labels, labels are ranked by
them. Class names, and how an image is fitted, are in the file's metadata as JSON.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from myriad.codes.onnx_nodes import PREFIX, Graph
from myriad.errors import InputError
from myriad.models.calibration.classes import MOST_EXPONENT, MOST_MARGIN, Calibration
from myriad.models.calibration.labels import LabelCalibration
from myriad.models.coded import CodedModel
from myriad.models.factored import ChosenModel, FactoredModel, LatentModel
from myriad.models.folder import ModelFolder
from myriad.models.linear import LinearModel
from myriad.models.rounded import RoundedModel
from myriad.serialisation import flatten, size_of
from myriad.signatures import Backbone
from myriad.signatures.networks.sessions import import_onnx

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
    if isinstance(model, RoundedModel) or (isinstance(model, LatentModel) and model.n_latents == 0):
        model = model.to_linear()
    if not isinstance(model, LinearModel | FactoredModel | ChosenModel):
        raise InputError(f"A model of the kind {model.kind!r} cannot be exported; linear ones can.")
    recipe = folder.recipe
    if not isinstance(recipe, Backbone) or recipe.views > 1:
        recipe = None  # the file takes rows, which `extract` or `Backbone` make
    if max(map(size_of, (whole, model))) + (recipe.graph.nbytes if recipe else 0) > MAX_BYTES:
        raise InputError("The model is larger than the 2 GB that an ONNX file can be.")
    onnx = import_onnx()
    metadata: dict[str, Any] = {"classes": folder.class_names}
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
        metadata["image"] = {word: settings[word] for word in words}
    if code is not None:
        name = code.add_onnx(Graph(onnx, file), name)
    _score(Graph(onnx, file), name, model, k, folder)
    onnx.helper.set_model_props(file, {word: json.dumps(value) for word, value in metadata.items()})
    try:
        onnx.checker.check_model(file)
    except onnx.checker.ValidationError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"The network of the model cannot be extended: {reason}") from None
    return bytes(file.SerializeToString())


def _normalise(graph: Graph, recipe: Backbone) -> str:
    """Add the normalisation of `Backbone.describe` to the output of the network."""
    shape = graph.add_constant(np.array([1, recipe.features], np.int64), "shape")
    x = graph.add("Reshape", [recipe.output, shape], f"{PREFIX}embedding")
    if recipe.power != 1.0:
        size = graph.add("Abs", [x], f"{PREFIX}size")
        power = graph.add_constant(np.array(recipe.power, np.float32), "power")
        small = graph.add("Pow", [size, power], f"{PREFIX}small")
        sign = graph.add("Sign", [x], f"{PREFIX}sign")
        x = graph.add("Mul", [sign, small], f"{PREFIX}signed")
    if recipe.parts:
        names = [f"{PREFIX}part_{i}" for i in range(len(recipe.parts))]
        sizes = graph.add_constant(np.array(recipe.parts, np.int64), "part_sizes")
        graph.add("Split", [x, sizes], *names, axis=1)
        weighted = []
        for name, weight in zip(names, recipe.weights, strict=True):
            one = graph.add("LpNormalization", [name], f"{name}_normalised", axis=1, p=2)
            factor = graph.add_constant(np.array(weight, np.float32), f"{name}_weight")
            weighted.append(graph.add("Mul", [one, factor], f"{name}_weighted"))
        x = graph.add("Concat", weighted, f"{PREFIX}parts", axis=1)
    return graph.add("LpNormalization", [x], f"{PREFIX}row", axis=1, p=2)


def _project(graph: Graph, rows: str, model: FactoredModel | ChosenModel) -> str:
    """Add the map from rows to latent features."""
    if isinstance(model, ChosenModel):
        features = graph.add_constant(model.features, "features")
        return graph.add("Gather", [rows, features], f"{PREFIX}latents", axis=1)
    directions = graph.add_constant(model.directions * model.strengths, "directions")
    return graph.add("MatMul", [rows, directions], f"{PREFIX}latents")


def _calibrate(graph: Graph, scores: str, calibration: Calibration, n_classes: int) -> str:
    """Add the probabilities of all classes; see `models.calibration`."""

    def keep(value: float, name: str) -> str:
        return graph.add_constant(np.array(value, np.float32), name)

    best = graph.add("ReduceMax", [scores], f"{PREFIX}best", axes=[1], keepdims=1)
    away = graph.add("Sub", [best, keep(calibration.centre, "mean_best")], f"{PREFIX}away")
    deviation = graph.add("Div", [away, keep(calibration.spread, "spread")], f"{PREFIX}deviation")
    limits = [keep(-MOST_EXPONENT, "lowest"), keep(MOST_EXPONENT, "highest")]
    deviation = graph.add("Clip", [deviation, *limits], f"{PREFIX}clipped")
    rise = graph.add("Mul", [deviation, keep(calibration.slope, "slope")], f"{PREFIX}rise")
    first = keep(float(np.log(calibration.scale)), "log_scale")
    exponent = graph.add("Add", [rise, first], f"{PREFIX}exponent")
    scale = graph.add("Exp", [exponent], f"{PREFIX}scale")
    logits = graph.add("Mul", [scores, scale], f"{PREFIX}scaled")
    bonus = keep(calibration.bonus, "bonus")
    if n_classes > 1:
        two = graph.add_constant(np.array([2], np.int64), "two")
        graph.add("TopK", [logits, two], f"{PREFIX}best_two", f"{PREFIX}classes_of_two", axis=1)
        # The weights of the best two are 1 and -1: their product with the logits is the margin.
        weights = graph.add_constant(np.array([[1.0], [-1.0]], np.float32), "one_less_other")
        margin = graph.add("MatMul", [f"{PREFIX}best_two", weights], f"{PREFIX}difference")
        margin = graph.add("Min", [margin, keep(MOST_MARGIN, "most_margin")], f"{PREFIX}margin")
        grown = graph.add("Mul", [margin, keep(calibration.gain, "gain")], f"{PREFIX}grown")
        bonus = graph.add("Add", [grown, bonus], f"{PREFIX}bonus_of_row")
    top = graph.add("ArgMax", [scores], f"{PREFIX}top", axis=1, keepdims=0)
    depth = graph.add_constant(np.array([n_classes], np.int64), "depth")
    values = graph.add_constant(np.array([0.0, 1.0], np.float32), "off_and_on")
    is_top = graph.add("OneHot", [top, depth, values], f"{PREFIX}is_top", axis=1)
    bonuses = graph.add("Mul", [is_top, bonus], f"{PREFIX}bonuses")
    logits = graph.add("Add", [logits, bonuses], f"{PREFIX}logits")
    return graph.add("Softmax", [logits], "probabilities", axis=1)


def _calibrate_labels(graph: Graph, scores: str, calibration: LabelCalibration) -> str:
    """Add the probabilities of all labels, of which a row may have several; return the logits."""
    scale = graph.add_constant(np.array(calibration.scale, np.float32), "scale")
    scaled = graph.add("Mul", [scores, scale], f"{PREFIX}scaled")
    logits = graph.add(
        "Add", [scaled, graph.add_constant(calibration.offsets, "offsets")], "logits"
    )
    graph.add("Sigmoid", [logits], "probabilities")
    return logits


def _score(
    graph: Graph,
    rows: str,
    model: LinearModel | FactoredModel | ChosenModel,
    k: int | None,
    folder: ModelFolder,
) -> None:
    """Add ``W x + b``, in factors where the model has them, and the ranking as the outputs."""
    helper, kinds = graph.onnx.helper, graph.onnx.TensorProto
    if isinstance(model, LinearModel):
        weights = model.weights
    else:
        rows, weights = _project(graph, rows, model), model.classes
    products = graph.add(
        "MatMul", [rows, graph.add_constant(weights.T, "weights")], f"{PREFIX}products"
    )
    scores = graph.add("Add", [products, graph.add_constant(model.biases, "biases")], "scores")
    del graph.graph.output[:]
    names, ranked = ["scores"], scores
    if folder.calibration is not None:
        names.append(_calibrate(graph, scores, folder.calibration, model.n_classes))
    elif folder.label_calibration is not None:
        ranked = _calibrate_labels(graph, scores, folder.label_calibration)
        names.append("probabilities")
    if k is None:
        outputs = [(name, kinds.FLOAT, model.n_classes) for name in names]
    else:
        k = min(k, model.n_classes)
        wanted = graph.add_constant(np.array([k], np.int64), "k")
        best = "top_scores" if ranked == scores else "top_logits"
        graph.add("TopK", [ranked, wanted], best, "top_labels", axis=1)
        outputs = [("top_scores", kinds.FLOAT, k), ("top_labels", kinds.INT64, k)]
        gathered = {"top_scores": scores} if ranked != scores else {}
        if "probabilities" in names:
            gathered["top_probabilities"] = "probabilities"
            outputs.append(("top_probabilities", kinds.FLOAT, k))
        for output, source in gathered.items():
            graph.add("GatherElements", [source, "top_labels"], output, axis=1)
    for name, kind, width in outputs:
        graph.graph.output.append(helper.make_tensor_value_info(name, kind, ["n", width]))
