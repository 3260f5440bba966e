"""Class activation of networks: an exact sum over positions, checked by covering the image."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import skimage
from onnx import TensorProto, helper, numpy_helper

from myriad.errors import InputError
from myriad.images import read_image
from myriad.models.explanations import map_heat
from myriad.signatures import Backbone, CombinedSignature
from myriad.signatures.explanations.activation import contribute, expose_maps, read_maps
from myriad.signatures.networks.efficientnet import LITES, make_efficientnet, read_weights

CAT = Path(skimage.__file__).parent / "data" / "chelsea.png"


def make_graph(pool, opset=13):
    """Return a network of one convolution with ReLU, a mean over positions and a flat output."""
    kernel = np.random.default_rng(0).standard_normal((6, 3, 4, 4)).astype(np.float32)
    constants = [numpy_helper.from_array(kernel, "kernel")]
    pools = {
        "global": helper.make_node("GlobalAveragePool", ["map"], ["pooled"]),
        "layers": helper.make_node("GlobalAveragePool", ["map"], ["pooled"]),
        "mean": helper.make_node("ReduceMean", ["map"], ["pooled"], axes=[2, 3]),
        "channels": helper.make_node("ReduceMean", ["map"], ["pooled"], axes=[1, 2]),
        "largest": helper.make_node("GlobalMaxPool", ["map"], ["pooled"]),
    }
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["sums"], strides=[4, 4]),
        helper.make_node("Relu", ["sums"], ["map"]),
        pools[pool],
        helper.make_node("Flatten", ["pooled"], ["features" if pool != "layers" else "flat"]),
    ]
    if pool == "layers":  # the map itself, and its sums of neighbours
        nodes += [
            helper.make_node("AveragePool", ["sums"], ["coarse"], kernel_shape=[2, 2]),
            helper.make_node("GlobalAveragePool", ["coarse"], ["coarse_pooled"]),
            helper.make_node("Flatten", ["coarse_pooled"], ["coarse_flat"]),
            helper.make_node("Concat", ["flat", "coarse_flat"], ["features"], axis=1),
        ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 16, 16])
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, None])
    graph = helper.make_graph(nodes, "small", [image], [features], constants)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def make_backbone(pool, **fields):
    graph = np.frombuffer(make_graph(pool), np.uint8)
    if pool == "layers":
        fields |= {"parts": (6, 6), "weights": (1.0, 0.5)}
    n_features = 12 if pool == "layers" else 6
    return Backbone(graph, "features", n_features, size=(16, 16), deviation=(64.0,) * 3, **fields)


def draw_image():
    return np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)


@pytest.mark.parametrize("pool", ["global", "mean", "layers"])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_the_sum_over_positions_is_the_score(pool, power):
    signature, image = make_backbone(pool, power=power), draw_image()
    weights = np.random.default_rng(2).standard_normal((3, signature.dim)).astype(np.float32)
    found = contribute(signature, image, weights)
    np.testing.assert_allclose(
        found.values.sum(axis=0), weights @ signature.describe(image), rtol=1e-4, atol=1e-5
    )
    shapes = [layer.shape for layer in read_maps(signature, signature.cut(image))]
    assert shapes == [(6, 4, 4), (6, 3, 3)][: len(shapes)]
    assert len(shapes) == (2 if pool == "layers" else 1)


@pytest.mark.parametrize("views", [2, 10])
def test_the_sum_over_the_positions_of_all_views_is_the_score(views):
    signature, image = make_backbone("layers", crop=0.5, power=0.5, views=views), draw_image()
    weights = np.random.default_rng(2).standard_normal((3, 12)).astype(np.float32)
    found = contribute(signature, image, weights)
    np.testing.assert_allclose(
        found.values.sum(axis=0), weights @ signature.describe(image), rtol=1e-4, atol=1e-5
    )
    # The first view and its mirror image lie in the middle, corners reach the border.
    reach = (0.0, 1.0) if views == 10 else (0.25, 0.75)
    np.testing.assert_allclose([found.boxes[:, 1].min(), found.boxes[:, 3].max()], reach)


def test_signatures_side_by_side_add_up():
    parts = (make_backbone("global"), make_backbone("mean", crop=0.5))
    signature, image = CombinedSignature(parts, (1.0, 0.5), ("one", "two")), draw_image()
    weights = np.random.default_rng(2).standard_normal((3, 12)).astype(np.float32)
    found = contribute(signature, image, weights)
    np.testing.assert_allclose(
        found.values.sum(axis=0), weights @ signature.describe(image), rtol=1e-4, atol=1e-5
    )


def test_the_tiles_cover_what_the_network_sees():
    signature, image = make_backbone("global", crop=0.5), draw_image()
    boxes = contribute(signature, image, np.ones((1, 6), np.float32)).boxes
    # Half of the shorter side, 20 pixels of 40 x 60, in the middle.
    np.testing.assert_allclose([boxes[:, 1].min(), boxes[:, 3].max()], [0.25, 0.75])
    np.testing.assert_allclose([boxes[:, 0].min(), boxes[:, 2].max()], [1 / 3, 2 / 3])


@pytest.mark.parametrize("pool", ["channels", "largest"])
def test_other_embeddings_cannot_be_explained(pool):
    with pytest.raises(InputError, match="mean of a map"):
        expose_maps(make_graph(pool), "features")


def test_covering_the_image_agrees():
    signature = make_efficientnet("efficientnet-lite0", layers="last")
    weights = read_weights(LITES["efficientnet-lite0"])["_fc.weight"][[281, 282, 285]]
    weights = weights.mean(axis=0).astype(np.float32)  # cats
    image = read_image(CAT, colour=True)
    height, width = image.shape[:2]
    heat = map_heat(signature, image, weights)
    score = float(weights @ signature.describe(image))
    mapped, lost = [], []
    for i in range(16):
        y, x = divmod(i, 4)
        covered = image.copy()
        rows = slice(y * height // 4, (y + 1) * height // 4)
        columns = slice(x * width // 4, (x + 1) * width // 4)
        covered[rows, columns] = image.mean(axis=(0, 1))
        lost.append(score - float(weights @ signature.describe(covered)))
        part = heat[y * len(heat) // 4 : (y + 1) * len(heat) // 4]
        mapped.append(part[:, x * heat.shape[1] // 4 : (x + 1) * heat.shape[1] // 4].sum())
    assert np.corrcoef(mapped, lost)[0, 1] > 0.4
