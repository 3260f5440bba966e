"""Contributions of descriptors: their sum is the score, and each is what the descriptor adds."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from skimage import data

import myriad.signatures.explanations.contributions as contributions
from myriad.descriptors import DenseSIFT, LocalDescriptors
from myriad.errors import InputError
from myriad.signatures import learn_bov, learn_fisher, learn_vlad
from myriad.signatures.explanations.contributions import contribute, find_slopes
from myriad.signatures.pyramid import normalise_regions

OPTIONS = {"descriptor": DenseSIFT(scales=2, step=8), "seed": 0, "threads": 1}


def photographs():
    sources = (data.camera(), data.coins(), data.page(), data.brick())
    return [cv2.resize(image, (150, 130), interpolation=cv2.INTER_AREA) for image in sources]


@pytest.fixture(scope="module")
def fisher():
    return learn_fisher(photographs(), n_components=8, regions=4, **OPTIONS)


@pytest.fixture(scope="module")
def signatures(fisher):
    images = photographs()
    vlad = learn_vlad(images, n_words=8, regions=8, **OPTIONS)
    bov = learn_bov(images, n_words=16, regions=4, **OPTIONS)
    return {
        "fisher": fisher,
        "fisher with weights": replace(fisher, weights=True),
        "fisher without power": replace(fisher, power=1.0),
        "fisher with coordinates": learn_fisher(
            images, n_components=4, regions=4, coordinates=True, **OPTIONS
        ),
        "vlad": vlad,
        "vlad within words": replace(vlad, within=True),
        "bov": bov,
        "bov soft": replace(bov, width=0.5),
        "bov chi2": learn_bov(images, n_words=16, regions=1, map="chi2", **OPTIONS),
    }


NAMES = ["fisher", "fisher with weights", "fisher without power", "vlad", "vlad within words"]
NAMES += ["fisher with coordinates", "bov", "bov soft", "bov chi2"]


def draw_weights(signature, n=2):
    return np.random.default_rng(1).standard_normal((n, signature.dim)).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
def test_the_sum_of_the_parts_is_the_score(signatures, name):
    signature, image = signatures[name], photographs()[0]
    weights = draw_weights(signature)
    found = contribute(signature, image, weights)
    row = signature.describe(image).astype(np.float64)
    assert found.boxes.shape == (len(found.values), 4)
    scale = np.abs(found.values).sum(axis=0)
    assert np.abs(found.values.sum(axis=0) - weights @ row).max() < 1e-4 * scale.max()


class Weighted:
    """A descriptor that repeats the descriptors of an image, to weight one of them."""

    def __init__(self, descriptor, image, copies, more):
        local = descriptor.describe(image)
        times = np.full(len(local), copies)
        times[more[0]] += more[1]
        self.local = LocalDescriptors(
            np.repeat(local.values, times, axis=0), np.repeat(local.positions, times, axis=0)
        )

    def describe(self, image):
        return self.local


def describe_weighted(signature, image, copies, more):
    """Return the signature of an image in which one descriptor has the weight 1 + more / copies."""
    altered = object.__new__(type(signature))
    altered.__dict__.update(signature.__dict__)
    altered.__dict__["descriptor"] = Weighted(signature.descriptor, image, copies, more)
    return altered.describe(image)


@pytest.mark.parametrize("name", ["fisher", "fisher without power", "vlad", "bov"])
def test_a_part_is_the_derivative_of_the_score_to_first_order(signatures, name, monkeypatch):
    # With p the exponent and the norms free, the derivative of the score with respect to the
    # weight of descriptor i is p (e_i - n_i), n_i the same sum for the weights that give the norm.
    monkeypatch.setattr(contributions, "FLOOR", 0.0)
    signature, image = replace(signatures[name], regions=1), photographs()[0]
    weights = draw_weights(signature, 1)
    row = signature.describe(image)
    # Near zero the square root is too steep for a difference to show its slope.
    weights[:, np.abs(row) < 0.5 * np.sqrt(np.mean(row**2))] = 0
    score = float(weights[0] @ row)
    parts = contribute(signature, image, np.stack([weights[0], row])).values
    power = signature.power
    expected = power * (parts[:, 0] - score * parts[:, 1])
    strongest = np.argsort(-np.abs(expected))[[0, 1, 5, 20]]
    for i in strongest:
        # A central difference: the weight of one descriptor is 1 - 1/16 and 1 + 1/16.
        low, high = (
            float(weights[0] @ describe_weighted(signature, image, 16, (i, more)))
            for more in (-1, 1)
        )
        assert (high - low) * 8 == pytest.approx(expected[i], rel=0.1, abs=2e-4)


def test_slopes_without_a_power_are_the_inverse_norms():
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((2, 5)).astype(np.float32)
    weights = rng.standard_normal((1, 10)).astype(np.float32)
    slopes, rest = find_slopes(raw, 1.0, weights)
    norms = np.linalg.norm(raw, axis=1, keepdims=True) * np.sqrt(2)
    np.testing.assert_allclose(slopes[0], weights.reshape(2, 5) / norms, rtol=1e-5)
    np.testing.assert_allclose(rest, 0, atol=1e-6)


def test_bounded_slopes_leave_a_rest():
    raw = np.array([[1.0, -2.0, 1e-6, 0.5]], np.float32)
    weights = np.ones((1, 4), np.float32)
    slopes, rest = find_slopes(raw, 0.5, weights)
    row = normalise_regions(raw.copy(), power=0.5)
    assert slopes.max() < 100
    assert rest[0, 0] > 0
    assert (slopes[0] * raw).sum() + rest[0, 0] == pytest.approx(row.sum())


def test_a_kernel_pca_cannot_be_explained():
    images = photographs()
    mixed = learn_bov(images, n_words=8, regions=1, map="intersection-pca", **OPTIONS)
    with pytest.raises(InputError, match="kernel PCA"):
        contribute(mixed, images[0], draw_weights(mixed))


def test_patches_without_contrast_have_no_part(fisher):
    image = photographs()[0].copy()
    image[:, :90] = 7
    signature = replace(fisher, descriptor=replace(fisher.descriptor, keep_empty=False))
    weights = draw_weights(signature)
    found = contribute(signature, image, weights)
    n_patches = len(signature.descriptor.find_patches(image))
    assert len(found.boxes) == len(found.values) == len(signature.descriptor.describe(image))
    assert len(found.boxes) < n_patches
    scores = weights.astype(np.float64) @ signature.describe(image)
    np.testing.assert_allclose(found.values.sum(axis=0), scores, rtol=1e-3, atol=1e-3)
    assert found.boxes[:, 2].min() > 80 / 150  # the window of a patch is wider than its box
