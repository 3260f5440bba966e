"""Explicit maps against the kernels themselves, and against scikit-learn's."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from skimage import data
from sklearn.kernel_approximation import AdditiveChi2Sampler

from myriad.descriptors import DenseSIFT
from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.signatures import MAPS, Signature, learn_bov
from myriad.signatures.maps import SPECTRA, AdditiveMap, IntersectionMap, choose_map
from myriad.vocabularies import learn_intersection_pca
from tests.reference import maps as reference

SMALL = {"n_words": 12, "pca_dim": 10, "sample": 2000, "threads": 1}


def make_histograms(n=12, size=40, seed=0):
    """Return rows of sum 1, many entries of them zero, and others of widely different sizes."""
    rng = np.random.default_rng(seed)
    counts = rng.exponential(1, (n, size)) ** 2 * (rng.random((n, size)) < 0.6)
    return (counts / counts.sum(axis=1, keepdims=True)).astype(np.float32)


def crops():
    scene = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    return [scene[40 * i : 40 * i + 130, 30 * i : 30 * i + 140] for i in range(6)]


def embed_each(additive, histograms):
    return np.stack([additive.embed(row[None, :]) for row in histograms])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_chi2_agrees_with_scikit_learn(order):
    histograms = make_histograms()
    theirs = AdditiveChi2Sampler(sample_steps=order + 1, sample_interval=0.45)
    expected = theirs.fit_transform(histograms.astype(np.float64))
    ours = embed_each(AdditiveMap("chi2", order, 0.45), histograms)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "order", "error"),
    [("hellinger", 1, 1e-6), ("chi2", 1, 0.06), ("chi2", 3, 0.01), ("intersection", 3, 0.14)],
)
def test_inner_products_are_the_kernel(kernel, order, error):
    histograms = make_histograms()
    mapped = embed_each(choose_map(kernel, order), histograms).astype(np.float64)
    exact = reference.gram(getattr(reference, kernel), histograms, histograms)
    assert np.abs(mapped @ mapped.T - exact).max() < error


@pytest.mark.parametrize("kernel", SPECTRA)
def test_many_fine_samples_reach_the_kernel(kernel):
    """With enough samples the spectrum is right, not merely a number of features that fit."""
    histograms = make_histograms(6)
    fine = AdditiveMap(kernel, 16, 0.25)
    mapped = embed_each(fine, histograms).astype(np.float64)
    exact = reference.gram(getattr(reference, kernel), histograms, histograms)
    worst = np.abs(mapped @ mapped.T - exact).max()
    assert worst < {"chi2": 1e-3, "intersection": 0.08}[kernel]  # the tail of 1 / (1 + 4 l²)


@pytest.mark.parametrize("kernel", SPECTRA)
def test_the_chosen_step_beats_its_neighbours(kernel):
    ratio = np.linspace(0, np.log(30), 500)
    exact = {"chi2": 1 / np.cosh(ratio / 2), "intersection": np.exp(-ratio / 2)}[kernel]

    def error(step, order):
        found = step * SPECTRA[kernel](0) + sum(
            2 * step * SPECTRA[kernel](j * step) * np.cos(j * step * ratio)
            for j in range(1, order + 1)
        )
        return ((found - exact) ** 2).mean()

    for order in (1, 2, 3, 4):
        step = choose_map(kernel, order).step
        assert error(step, order) < min(error(0.97 * step, order), error(1.03 * step, order))


@pytest.mark.parametrize("name", MAPS)
def test_contract(name):
    descriptor = DenseSIFT(scales=1)
    bag = learn_bov(crops(), map=name, regions=4, descriptor=descriptor, **SMALL)
    per_count = {"hellinger": 1, "chi2": 3, "intersection": 3}.get(name)
    assert bag.dim == (5 if per_count is None else 4 * 12 * per_count)
    assert bag.period == (bag.dim if per_count is None else bag.dim // 4)
    again = restore(*flatten(bag), Signature)
    for image in (crops()[0], np.full((40, 50), 9, np.uint8), np.zeros((1, 1), np.uint8)):
        described = bag.describe(image)
        assert described.shape == (bag.dim,)
        assert described.dtype == np.float32
        assert np.isfinite(described).all()
        np.testing.assert_array_equal(again.describe(image), described)
        if per_count:
            assert np.linalg.norm(described) == pytest.approx(1, abs=1e-5)


def test_images_compare_by_the_kernel():
    """Whole signatures, regions and norms included: 4 regions weigh a quarter each."""
    bag = learn_bov(crops(), descriptor=DenseSIFT(scales=1), **SMALL)
    bag = replace(bag, map=choose_map("chi2", 4))
    first, second = bag.count(crops()[0]), bag.count(crops()[3])
    expected = np.mean([reference.chi2(*pair) for pair in zip(first, second, strict=True)])
    found = bag.describe(crops()[0]) @ bag.describe(crops()[3])
    assert found == pytest.approx(expected, abs=0.01)


def test_kernel_pca_needs_images_it_can_look_at_twice():
    with pytest.raises(InputError, match="twice"):
        learn_bov(iter(crops()), map="intersection-pca", **SMALL)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (("gauss",), "hellinger, chi2, intersection"),
        (("chi2", 99, 0.5), "order"),
        (("chi2", True, 0.5), "order"),
        (("chi2", 1, 0.0), "step"),
        (("chi2", 1, float("nan")), "step"),
        (("hellinger", 2), "order 0"),
    ],
)
def test_refuses_damaged_fields(fields, says):
    with pytest.raises(InputError, match=says):
        AdditiveMap(*fields)


def test_refuses_an_unknown_map_and_one_that_does_not_fit():
    with pytest.raises(InputError, match="order"):
        choose_map("chi2", 9)
    with pytest.raises(InputError, match="kernel"):
        choose_map("rbf")
    with pytest.raises(InputError, match="must be one of"):
        learn_bov(crops(), map="rbf", **SMALL)
    bag = learn_bov(crops(), descriptor=DenseSIFT(scales=1), **SMALL)
    with pytest.raises(InputError, match="does not fit"):
        replace(bag, map=IntersectionMap(learn_intersection_pca(make_histograms(), 3)))
    with pytest.raises(InputError, match="kernel PCA"):
        IntersectionMap(None)
