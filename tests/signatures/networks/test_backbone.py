"""Networks as signatures: what they are shown, what they give, and what is refused."""

import dataclasses
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from onnx import TensorProto, helper
from PIL import Image

from myriad.errors import InputError, WorkError
from myriad.images import BadImage
from myriad.serialisation import fingerprint, flatten, restore
from myriad.signatures import Backbone, OnnxOptions, open_network, read_onnx
from myriad.signatures.networks.backbone import CORNERS
from myriad.signatures.networks.onnx_file import NORMS, parse_numbers
from myriad.signatures.networks.sessions import start_session
from tests.signatures.onnx_files import write_network

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (30, 40, 3), dtype=np.uint8)
RAW = OnnxOptions(mean="0", deviation="1")


def unit(row):
    return row / np.linalg.norm(row)


def test_the_row_is_the_output_for_the_resized_crop(tmp_path):
    write_network(tmp_path / "n.onnx")
    options = OnnxOptions(mean="10,20,30", deviation="2,4,8")
    backbone = read_onnx(tmp_path / "n.onnx", options, crop=0.8)
    side = 0.8 * 30
    box = ((40 - side) / 2, (30 - side) / 2, (40 + side) / 2, (30 + side) / 2)
    pixels = np.asarray(Image.fromarray(IMAGE).resize((8, 8), Image.Resampling.BICUBIC, box=box))
    expected = ((pixels - [10.0, 20, 30]) / [2.0, 4, 8]).mean(axis=(0, 1))
    np.testing.assert_allclose(backbone.describe(IMAGE), unit(expected), rtol=1e-5)
    assert (backbone.dim, backbone.size, backbone.colour) == (3, (8, 8), True)


def test_a_large_image_is_smoothed_as_it_shrinks(tmp_path):
    write_network(tmp_path / "n.onnx")
    stripes = np.zeros((160, 160, 3), np.uint8)
    stripes[::2] = 255
    fitted = read_onnx(tmp_path / "n.onnx", RAW)
    fitted = fitted.fit(fitted.cut(stripes))
    assert np.abs(fitted - 127.5).max() < 10


def test_layout_order_and_squashing(tmp_path):
    write_network(tmp_path / "n.onnx", shape=(1, 8, 6, 3))
    backbone = read_onnx(tmp_path / "n.onnx", RAW, crop=0.0)
    assert (backbone.layout, backbone.size) == ("nhwc", (8, 6))
    whole = np.asarray(Image.fromarray(IMAGE).resize((6, 8), Image.Resampling.BICUBIC), np.float32)
    np.testing.assert_array_equal(backbone.fit(backbone.cut(IMAGE)), whole[None])
    reordered = dataclasses.replace(backbone, order="bgr")
    np.testing.assert_array_equal(reordered.fit(reordered.cut(IMAGE)), whole[None, :, :, ::-1])


def test_a_crop_of_the_whole_shorter_side_fits_into_images_of_all_sizes(tmp_path):
    """Its edges have rounding errors, and Pillow refuses a crop that exceeds the image."""
    write_network(tmp_path / "n.onnx", shape=(1, 3, 22, 26))
    backbone = read_onnx(tmp_path / "n.onnx", RAW, crop=1.0)
    for height in range(20, 120):
        image = np.zeros((height, 160 - height, 3), np.uint8)
        for corner in CORNERS:
            assert backbone.cut(image, corner).shape == (22, 26, 3)


@pytest.mark.parametrize("views", [2, 10])
def test_views_are_averaged(tmp_path, views):
    write_network(tmp_path / "n.onnx", kernel=[[1, 2, 0], [0, 1, 0], [0, 0, 1]])
    backbone = read_onnx(tmp_path / "n.onnx", dataclasses.replace(RAW, views=views))
    seen = []
    for corner in CORNERS if views == 10 else CORNERS[:1]:
        pixels = backbone.cut(IMAGE, corner)
        one = dataclasses.replace(backbone, views=1, crop=1.0)
        for view in (pixels, pixels[:, ::-1]):
            (found,) = start_session(one.graph.tobytes()).run(
                ["embedding"], {"image": one.fit(view)}
            )
            seen.append(found.reshape(-1))
    mean = np.mean(seen, axis=0)
    np.testing.assert_allclose(backbone.describe(IMAGE), mean / np.linalg.norm(mean), rtol=1e-5)
    with pytest.raises(InputError, match="--views must be 1, 2 or 10"):
        OnnxOptions(views=3)


def test_power_and_length(tmp_path):
    write_network(tmp_path / "n.onnx", kernel=[[1, -1], [0, 0], [0, 0]])
    row = read_onnx(tmp_path / "n.onnx", RAW, power=0.5).describe(IMAGE)
    np.testing.assert_allclose(row, [np.sqrt(0.5), -np.sqrt(0.5)], rtol=1e-6)
    write_network(tmp_path / "n.onnx", kernel=np.zeros((3, 4)))
    assert not read_onnx(tmp_path / "n.onnx", RAW).describe(IMAGE).any()


def test_a_restored_backbone_does_the_same_in_any_thread(tmp_path):
    write_network(tmp_path / "n.onnx", shape=("batch", 3, "height", "width"))
    backbone = read_onnx(tmp_path / "n.onnx", OnnxOptions(size=16))
    settings, arrays = flatten(backbone)
    again = restore(settings, arrays, Backbone)
    assert fingerprint(again) == fingerprint(backbone)
    with ThreadPoolExecutor(4) as executor:
        rows = list(executor.map(again.describe, [IMAGE] * 16))
    for row in rows:
        np.testing.assert_array_equal(row, backbone.describe(IMAGE))


def test_another_output_or_a_value_inside(tmp_path):
    write_network(tmp_path / "n.onnx", kernel=RNG.normal(size=(3, 5)))
    assert read_onnx(tmp_path / "n.onnx", RAW).dim == 5
    inside = read_onnx(tmp_path / "n.onnx", dataclasses.replace(RAW, output="pooled"))
    assert (inside.dim, inside.output) == (3, "pooled")
    with pytest.raises(InputError, match=r"n\.onnx has no output 'nothing'.*embedding, copy"):
        read_onnx(tmp_path / "n.onnx", OnnxOptions(output="nothing"))
    with pytest.raises(InputError, match=r"'copy' has shape \(1, 3, 8, 8\), which is not a vector"):
        read_onnx(tmp_path / "n.onnx", OnnxOptions(output="copy"))


@pytest.mark.parametrize(
    ("network", "options", "says"),
    [
        (
            {"shape": (1, 1, 8, 8), "kernel": [[1]]},
            RAW,
            r"'image' is tensor\(float\) of shape \[1, 1, 8, 8\]",
        ),
        ({"shape": (2, 3, 8, 8)}, RAW, "of shape"),
        ({"kind": TensorProto.DOUBLE}, RAW, "cannot be run|tensor"),
        ({"shape": (1, 3, 0, 8)}, RAW, "0 x 8 pixels; 1 to 4096 are possible"),
        ({"shape": (1, 3, 8, 10**6)}, RAW, "8 x 1000000 pixels"),
        ({}, OnnxOptions(size=9), "8 x 8 pixels: --image-size 9 is wrong"),
        ({}, OnnxOptions(mean="0.5,0.5,0.5", deviation="0.25"), "from 0 to 255"),
        ({}, OnnxOptions(mean="1,2"), "--onnx-mean"),
        ({}, OnnxOptions(deviation="nan"), "--onnx-deviation"),
        ({}, OnnxOptions(deviation="-1"), "--onnx-deviation"),
        (
            {"also": [helper.make_tensor_value_info("text", TensorProto.FLOAT, [1])]},
            RAW,
            r"one input, an image, not 2 \('image', 'text'\)",
        ),
    ],
)
def test_a_network_that_takes_no_images_is_refused(tmp_path, network, options, says):
    write_network(tmp_path / "n.onnx", **network)
    with pytest.raises(InputError, match=says):
        read_onnx(tmp_path / "n.onnx", options)


@pytest.mark.parametrize("shape", [(1, 3, "h", "w"), ("n", "h", "w", 3), (1, 3, 8, "w")])
def test_a_dynamic_size_is_the_stated_one(tmp_path, shape):
    write_network(tmp_path / "n.onnx", shape=shape)
    found = read_onnx(tmp_path / "n.onnx", OnnxOptions(size=8))
    assert found.size == (8, 8)
    assert found.describe(IMAGE).shape == (3,)
    usual = read_onnx(tmp_path / "n.onnx")
    assert usual.size == (8 if 8 in shape else 224, 224)
    if 8 in shape:
        with pytest.raises(InputError, match="--image-size 9 is wrong"):
            read_onnx(tmp_path / "n.onnx", OnnxOptions(size=9))


def test_files_that_are_no_networks(tmp_path):
    (tmp_path / "n.onnx").write_bytes(b"no network")
    for options in (RAW, OnnxOptions(output="a")):
        with pytest.raises(InputError, match=r"n\.onnx"):
            open_network(f"onnx:{tmp_path / 'n.onnx'}", options)
    with pytest.raises(InputError, match="no such file"):
        open_network(f"onnx:{tmp_path / 'none.onnx'}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("graph", np.zeros(3, np.float32)),
        ("graph", np.zeros(3, np.uint8)),
        ("output", 3),
        ("features", 0),
        ("features", 2.5),
        ("size", (8,)),
        ("size", (8, -8)),
        ("size", (8, 100_000)),
        ("mean", (1.0, 2.0)),
        ("mean", (1.0, 2.0, "3")),
        ("deviation", (1.0, 0.0, 1.0)),
        ("deviation", (1.0, float("nan"), 1.0)),
        ("crop", 2.0),
        ("layout", "chw"),
        ("order", "grey"),
        ("power", 0),
        ("parts", 3),
        ("parts", (2, 2)),
        ("parts", (2, 1)),
        ("weights", (1.0,)),
        ("sha256", "0" * 64),
    ],
)
def test_fields_from_a_hostile_file_are_checked(field, value):
    backbone = Backbone(np.frombuffer(write_network(), np.uint8), "embedding", 3)
    with pytest.raises(InputError):
        dataclasses.replace(backbone, **{field: value})


def test_an_image_that_a_network_gives_nan_for_is_bad():
    graph = np.frombuffer(write_network(kernel=np.full((3, 2), np.nan)), np.uint8)
    with pytest.raises(BadImage, match="NaN"):
        Backbone(graph, "embedding", 2, size=(8, 8)).describe(IMAGE)


def test_a_network_that_fails_is_a_failure_of_the_work():
    graph = np.frombuffer(write_network(kernel=np.zeros((3, 2))), np.uint8)
    with pytest.raises(WorkError, match="2 features where 5"):
        Backbone(graph, "embedding", 5, size=(8, 8)).describe(IMAGE)
    with pytest.raises(WorkError, match="failed on an image"):
        Backbone(graph, "embedding", 2, size=(9, 9)).describe(IMAGE)


@pytest.mark.parametrize("package", ["onnxruntime", "onnx"])
def test_a_missing_package_is_named_with_its_remedy(tmp_path, monkeypatch, package):
    write_network(tmp_path / "n.onnx")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"{package}: pip install onnxruntime onnx"):
        read_onnx(tmp_path / "n.onnx", OnnxOptions(output="pooled"))


def test_words_for_mean_and_deviation():
    assert parse_numbers("--onnx-mean", "imagenet", 0) == NORMS["imagenet"][0]
    assert parse_numbers("--onnx-mean", "3", 0) == (3, 3, 3)
