"""Networks of 8-bit integers: beside those in float32, and codes that no processor overflows."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import onnx
import skimage

from myriad import Backbone
from myriad.errors import InputError
from myriad.images import read_image
from myriad.signatures.explanations.activation import contribute
from myriad.signatures.networks.efficientnet import (
    LITES,
    build_graph,
    make_efficientnet,
    read_weights,
)
from myriad.signatures.networks.graph import fold
from myriad.signatures.networks.int8 import Int8Graph, find_clipped_means
from myriad.signatures.networks.sessions import start_session

NAME = "efficientnet-lite0"
PICTURES = Path(skimage.__file__).parent / "data"

pytestmark = pytest.mark.skipif(find_spec(LITES[NAME].package) is None, reason="no weights")


@pytest.fixture(scope="module")
def weights():
    return read_weights(LITES[NAME])


@pytest.fixture(scope="module")
def constants(weights):
    graph = onnx.load_from_string(build_graph(weights, LITES[NAME], precision="int8")).graph
    return {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}


@pytest.mark.parametrize("file", ["chelsea.png", "coffee.png", "rocket.jpg"])
def test_embedding_is_near_that_of_float32(file):
    image = read_image(PICTURES / file, colour=True)
    plain, coded = (make_efficientnet(NAME, precision=one) for one in ("float32", "int8"))
    row = coded.describe(image)
    assert row.dtype == np.float32
    assert plain.describe(image) @ row > 0.97


def test_means_after_relu6_are_those_of_draws():
    draws = np.random.default_rng(0).standard_normal((200_000, 1))
    mean, deviation = np.array([-3.0, 0.2, 2.0, 7.0]), np.array([1.0, 0.5, 3.0, 0.0])
    expected = np.clip(mean + deviation * draws, 0, 6).mean(axis=0)
    np.testing.assert_allclose(find_clipped_means(mean, deviation), expected, atol=0.02)


def test_rounding_keeps_the_mean_of_the_output(weights):
    """Of inputs with the means that the weights state, as far as biases are whole numbers."""
    graph = Int8Graph(weights)
    x = graph.convolve(graph.start(), "_conv_stem", "_bn0", stride=2, active=True)
    name = "_blocks.0._depthwise_conv"
    graph.convolve(x, name, "_blocks.0._bn1", active=True, depthwise=True)
    found = {one.name: onnx.numpy_helper.to_array(one) for one in graph.constants}
    kernel, bias = fold(weights, name, "_blocks.0._bn1")
    codes, scales = found[f"{name}.kernel.codes"], found[f"{name}.kernel.scales"].astype(float)
    sums = found[f"{name}.bias.scales"].astype(float)
    rounded = codes.sum(axis=(1, 2, 3)) * scales, found[f"{name}.bias.codes"] * sums
    mean = find_clipped_means(weights["_bn0.bias"].astype(float), np.abs(weights["_bn0.weight"]))
    exact = kernel.sum(axis=(1, 2, 3), dtype=float) * mean + bias
    np.testing.assert_allclose(rounded[0] * mean + rounded[1], exact, atol=sums.max())


def test_weights_are_codes_times_their_scales(weights, constants):
    kernels = [name for name in constants if name.endswith(".kernel.codes")]
    assert len(kernels) == sum(array.ndim == 4 for array in weights.values())
    for name in kernels:
        codes, scales = constants[name], constants[name.replace(".codes", ".scales")]
        assert codes.dtype == np.int8
        # Pairs of products of codes are summed in 16 bits where there are no 8-bit instructions.
        depthwise = "_depthwise_" in name
        assert np.abs(codes.astype(int)).max() == (127 if depthwise else 63)
        assert (scales > 0).all()


def test_pixels_are_codes(constants):
    scale, zero = (constants[f"image.decoded.{part}"] for part in ("scale", "zero"))
    network = make_efficientnet(NAME)
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    values = network.fit(np.stack([pixels] * 3, axis=-1))
    np.testing.assert_array_equal(values[0, 0] / scale + zero, pixels)


def test_one_convolution_is_that_of_decoded_numbers():
    """The slow way: decode codes, multiply in float64, round to the codes of the output."""
    rng = np.random.default_rng(0)
    arrays = {"weight": rng.normal(size=(4, 3, 1, 1))}
    norm = {
        "weight": rng.normal(size=4),
        "bias": rng.normal(size=4),
        "running_mean": rng.normal(size=4),
        "running_var": rng.uniform(0.5, 2, 4),
    }
    weights = {f"conv.{name}": array.astype(np.float32) for name, array in arrays.items()}
    weights |= {f"norm.{name}": array.astype(np.float32) for name, array in norm.items()}
    graph = Int8Graph(weights)
    output = graph.convolve(graph.start(), "conv", "norm", active=True)
    features = graph.pool(output, "features")
    session = start_session(graph.finish(features, 1))
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.constants}
    codes = constants["conv.kernel.codes"][:, :, 0, 0] * constants["conv.kernel.scales"][:, None]
    bias = constants["conv.bias.codes"] * constants["conv.bias.scales"].astype(float)
    for _ in range(20):
        x = ((rng.integers(0, 256, 3) - 127) / 128).astype(np.float32)
        (found,) = session.run([features], {"image": x[None, :, None, None]})
        exact = np.clip(codes.astype(float) @ x + bias, 0, 6)
        assert np.abs(found[0] - exact).max() <= 0.5 * 6 / 255 * 1.01


def test_explanations_add_up_to_the_score():
    network = make_efficientnet(NAME, precision="int8")
    image = read_image(PICTURES / "chelsea.png", colour=True)
    weights = np.random.default_rng(2).standard_normal((3, network.dim)).astype(np.float32)
    found = contribute(network, image, weights)
    np.testing.assert_allclose(
        found.values.sum(axis=0), weights @ network.describe(image), rtol=1e-3, atol=1e-4
    )


def test_precision_is_an_option_of_the_backbone():
    assert Backbone(precision="int8").fit().signature_.dim == make_efficientnet(NAME).dim
    with pytest.raises(InputError, match="precision"):
        Backbone(precision="int4").fit()
