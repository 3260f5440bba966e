"""Bags of words and VLAD against their definitions."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from skimage import data

from myriad.descriptors import DenseSIFT
from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.signatures import BagOfWordsSignature, Signature, VladSignature, learn_bov, learn_vlad
from tests.reference.fisher import normalise

SMALL = {
    "n_words": 9,
    "pca_dim": 10,
    "sample": 2000,
    "descriptor": DenseSIFT(scales=2),
    "threads": 1,
}


def crops():
    scene = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    return [scene[50 * i : 50 * i + 130, 40 * i : 40 * i + 140] for i in range(4)]


@pytest.fixture(scope="module")
def bov():
    return learn_bov(crops(), **SMALL)


@pytest.fixture(scope="module")
def vlad():
    return learn_vlad(crops(), **SMALL)


def nearest(signature, image):
    """Return projected descriptors, their words, and for each region which of them it holds."""
    local = signature.descriptor.describe(image)
    values = signature.pca.project(local.values).astype(np.float64)
    centres = signature.words.centres
    words = ((values[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    y = local.positions[:, 1]
    inside = [y >= 0, y < 1 / 3, (y >= 1 / 3) & (y < 2 / 3), y >= 2 / 3]
    return values, words, inside


def test_bag_of_words_agrees_with_the_definition(bov):
    _, words, inside = nearest(bov, crops()[1])
    counts = [np.bincount(words[i], minlength=9) for i in inside]
    hellinger = np.concatenate([np.sqrt(count / count.sum()) for count in counts]) / 2
    described = bov.describe(crops()[1])
    assert described.shape == (bov.dim,) == (36,)
    np.testing.assert_allclose(described, hellinger, atol=1e-6)


def test_soft_counts_agree_with_the_definition():
    soft = learn_bov(crops(), soft=True, **SMALL)
    values, words, inside = nearest(soft, crops()[1])
    distances = ((values[:, None] - soft.words.centres) ** 2).sum(axis=2)
    shares = np.exp(-distances / (2 * soft.width**2))
    shares /= shares.sum(axis=1, keepdims=True)
    expected = np.concatenate([np.sqrt(shares[i].mean(axis=0)) for i in inside]) / 2
    np.testing.assert_allclose(soft.describe(crops()[1]), expected, atol=1e-5)
    spread = distances[np.arange(len(words)), words].mean() / soft.words.dim
    assert soft.width == pytest.approx(spread**0.5, rel=0.2)
    assert np.mean(shares.max(axis=1) < 0.9) > 0.05  # it is soft


def test_narrow_soft_counts_are_hard_counts(bov):
    narrow = replace(bov, width=1e-3)
    np.testing.assert_allclose(narrow.describe(crops()[1]), bov.describe(crops()[1]), atol=1e-5)


@pytest.mark.parametrize("within", [False, True])
def test_vlad_agrees_with_the_definition(vlad, within):
    values, words, inside = nearest(vlad, crops()[1])
    residuals = values - vlad.words.centres[words]
    sums = np.stack(
        [np.stack([residuals[i & (words == k)].sum(axis=0) for k in range(9)]) for i in inside]
    )
    if within:
        sums /= np.maximum(np.linalg.norm(sums, axis=2, keepdims=True), 1e-12)
    signature = VladSignature(vlad.descriptor, vlad.pca, vlad.words, 4, within=within)
    described = signature.describe(crops()[1])
    assert described.shape == (vlad.dim,) == (4 * 9 * 10,)
    np.testing.assert_allclose(described, normalise(sums.reshape(4, -1)), atol=1e-4)


@pytest.mark.parametrize("name", ["bov", "vlad"])
def test_contract(name, request):
    signature = request.getfixturevalue(name)
    again = restore(*flatten(signature), Signature)
    assert type(again) is type(signature)
    for image in (crops()[0], np.full((40, 50), 9, np.uint8), np.zeros((1, 1), np.uint8)):
        described = signature.describe(image)
        assert described.dtype == np.float32
        assert np.isfinite(described).all()
        np.testing.assert_array_equal(again.describe(image), described)


def test_does_not_depend_on_threads(bov):
    again = learn_bov(crops(), **(SMALL | {"threads": 3}))
    np.testing.assert_array_equal(again.words.centres, bov.words.centres)


@pytest.mark.parametrize("kind", [BagOfWordsSignature, VladSignature])
@pytest.mark.parametrize("change", [{"words": None}, {"regions": 2}, {"pca": "none"}])
def test_refuses_damaged_fields(bov, kind, change):
    fields = {"descriptor": bov.descriptor, "pca": bov.pca, "words": bov.words}
    with pytest.raises(InputError):
        kind(**(fields | change))


@pytest.mark.parametrize(
    "change", [{"map": "chi2"}, {"map": None}, {"width": -1.0}, {"width": float("nan")}]
)
def test_refuses_damaged_fields_of_a_bag(bov, change):
    with pytest.raises(InputError):
        replace(bov, **change)


@pytest.mark.parametrize("change", [{"power": 2}, {"within": 1}])
def test_refuses_damaged_fields_of_vlad(vlad, change):
    with pytest.raises(InputError):
        replace(vlad, **change)
