"""Signatures of images that are hardly images: tiny, one pixel high, grey where colour is used."""

import cv2
import numpy as np
import pytest

from myriad.descriptors import DenseSIFT, LocalColour
from myriad.images import read_image
from myriad.signatures import CombinedSignature, learn_fisher
from myriad.signatures.networks.backbone import Backbone
from tests.signatures.onnx_files import write_network

GRID = {"step": 16, "scales": 2}
RNG = np.random.default_rng(0)
SHAPES = [(1, 1), (1, 50), (50, 1), (3, 3), (1, 4000), (23, 23)]


@pytest.fixture(scope="module")
def signatures():
    colours = [RNG.integers(0, 256, (60, 70, 3), dtype=np.uint8) for _ in range(4)]
    grey = [image[:, :, 0].copy() for image in colours]
    options = {"n_components": 2, "regions": 4, "threads": 1, "coordinates": True}
    sift = learn_fisher(grey, descriptor=DenseSIFT(keep_empty=False, **GRID), **options)
    colour = learn_fisher(colours, descriptor=LocalColour(**GRID), **options)
    network = Backbone(np.frombuffer(write_network(), np.uint8), "embedding", 3, size=(8, 8))
    both = CombinedSignature((network, sift, colour), (1.0, 0.5, 0.5), ("a", "b", "c"))
    return {"sift": sift, "colour": colour, "network": network, "combined": both}


def write(shape, *, colour):
    noise = RNG.integers(0, 256, (*shape, 3) if colour else shape, dtype=np.uint8)
    return cv2.imencode(".png", noise)[1].tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("colour", [True, False], ids=["colour", "grey"])
@pytest.mark.parametrize("name", ["sift", "colour", "network", "combined"])
def test_every_file_has_a_finite_row(signatures, name, shape, colour):
    signature = signatures[name]
    content = write(shape, colour=colour)
    image = read_image(content, colour=signature.colour, min_pixels=signature.pixels)
    row = signature.describe(image)
    assert row.shape == (signature.dim,)
    assert np.isfinite(row).all()
    assert np.linalg.norm(row) <= 1.0001


@pytest.mark.parametrize("name", ["sift", "colour", "network", "combined"])
def test_an_image_of_one_colour_has_a_finite_row(signatures, name):
    signature = signatures[name]
    shape = (40, 30, 3) if signature.colour else (40, 30)
    for value in (0, 7, 255):
        assert np.isfinite(signature.describe(np.full(shape, value, np.uint8))).all()


def test_a_grey_file_has_the_row_of_the_same_image_in_three_channels(signatures):
    grey = RNG.integers(0, 256, (40, 30), dtype=np.uint8)
    content = cv2.imencode(".png", grey)[1].tobytes()
    for name in ("colour", "network"):
        image = read_image(content, colour=True)
        np.testing.assert_array_equal(image, np.repeat(grey[:, :, None], 3, axis=2))
        assert signatures[name].describe(image).any()
