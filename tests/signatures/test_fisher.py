"""Fisher vectors against their definition, scikit-image, and themselves on parts of an image."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from skimage import data
from skimage.feature import fisher_vector as their_fisher_vector
from sklearn.mixture import GaussianMixture as TheirMixture

from myriad.descriptors import DenseSIFT
from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.signatures import FisherSignature, Signature
from myriad.signatures.fisher import fisher_vectors, learn_fisher
from myriad.signatures.pyramid import pyramid_of
from myriad.vocabularies import GaussianMixture, learn_mixture, learn_pca
from tests.reference import fisher as reference


def make_values(n=400, dim=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, dim)) * 1.5
    values = centres[rng.integers(0, 5, n)] + rng.standard_normal((n, dim))
    return values.astype(np.float32), rng.random((n, 2), dtype=np.float32)


def make_mixture():
    return learn_mixture(make_values(2000)[0], 8, rounds=5)


def hand_over(mixture):
    """Return a mixture as scikit-learn has it."""
    theirs = TheirMixture(mixture.n_components, covariance_type="diag")
    theirs.weights_ = mixture.weights.astype(np.float64)
    theirs.means_ = mixture.means.astype(np.float64)
    theirs.covariances_ = mixture.variances.astype(np.float64)
    theirs.precisions_cholesky_ = 1 / np.sqrt(theirs.covariances_)
    return theirs


def photograph():
    return cv2.resize(data.camera(), (160, 140), interpolation=cv2.INTER_AREA)


@pytest.fixture(scope="module")
def signature():
    sift = DenseSIFT(scales=2)
    values = sift.describe(photograph()).values
    pca = learn_pca(values, 16)
    mixture = learn_mixture(pca.project(values), 10, rounds=5)
    return FisherSignature(sift, pca, mixture, regions=4)


def test_agrees_with_the_definition():
    mixture = make_mixture()
    values, positions = make_values(seed=1)
    vectors = fisher_vectors(values, positions, mixture, pyramid_of(1))
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0], reference.fisher_vector(values, mixture), atol=1e-4)


def test_agrees_with_scikit_image():
    """Its deviation part has the opposite sign, and it normalises to norm 1 over the whole."""
    mixture = make_mixture()
    values, positions = make_values(seed=1)
    theirs = hand_over(mixture)
    expected = their_fisher_vector(values, theirs, improved=True)[8:]  # its first 8 are of weights
    expected[8 * 6 :] *= -1
    vectors = fisher_vectors(values, positions, mixture, pyramid_of(1))
    powered = np.copysign(np.sqrt(np.abs(vectors[0])), vectors[0])
    np.testing.assert_allclose(
        powered / np.linalg.norm(powered), expected / np.linalg.norm(expected), atol=1e-4
    )


def test_weights_agree_with_scikit_image():
    """All three parts, weights first; on their own scale, so that no part hides behind another."""
    mixture = make_mixture()
    values, positions = make_values(seed=1)
    theirs = hand_over(mixture)
    expected = their_fisher_vector(values, theirs, improved=False)
    expected[8 + 8 * 6 :] *= -1
    vectors = fisher_vectors(values, positions, mixture, pyramid_of(1), weights=True)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-4)
    assert np.abs(vectors[0, :8]).max() > 0.01


def test_weights_of_a_region_and_of_an_empty_one():
    mixture = make_mixture()
    values, positions = make_values()
    positions[:, 1] *= 0.6
    vectors = fisher_vectors(values, positions, mixture, pyramid_of(4), weights=True)
    assert vectors.shape == (4, 8 + 2 * 8 * 6)
    assert not vectors[3].any()
    plain = fisher_vectors(values, positions, mixture, pyramid_of(4))
    np.testing.assert_array_equal(vectors[:, 8:], plain)
    first = positions[:, 1] < 1 / 3
    alone = fisher_vectors(values[first], positions[first], mixture, pyramid_of(1), weights=True)
    np.testing.assert_allclose(vectors[1], alone[0], atol=1e-5)


@pytest.mark.parametrize("regions", [4, 8])
def test_a_region_is_the_fisher_vector_of_what_lies_in_it(regions):
    mixture = make_mixture()
    values, positions = make_values(seed=2)
    pyramid = pyramid_of(regions)
    vectors = fisher_vectors(values, positions, mixture, pyramid)
    x, y = positions.T
    for vector, (left, top, right, bottom) in zip(vectors, pyramid.regions, strict=True):
        inside = (left <= x) & (x < right) & (top <= y) & (y < bottom)
        assert inside.sum() > 20
        expected = reference.fisher_vector(values[inside], mixture)
        np.testing.assert_allclose(vector, expected, atol=2e-4)


def test_an_empty_stripe_is_zero():
    mixture = make_mixture()
    values, positions = make_values()
    positions[:, 1] *= 0.3
    vectors = fisher_vectors(values, positions, mixture, pyramid_of(4))
    np.testing.assert_array_equal(vectors[0], vectors[1])
    assert not vectors[2:].any()


def test_descriptors_of_the_mixture_itself_have_a_small_vector():
    """At the maximum of the likelihood the gradient, which the Fisher vector is, vanishes."""
    values, positions = make_values(3000)
    mixture = learn_mixture(values, 6, rounds=150)
    shifted = fisher_vectors(values + np.float32(0.5), positions, mixture, pyramid_of(1))
    own = fisher_vectors(values, positions, mixture, pyramid_of(1))
    assert np.abs(own).max() < 0.02 < 0.2 < np.abs(shifted).max()


def test_whole_signature_agrees_with_the_definition(signature):
    image = photograph()[::-1]
    local = signature.descriptor.describe(image)
    projected = (local.values.astype(np.float64) - signature.pca.mean) @ signature.pca.components.T
    stripe = np.minimum((local.positions[:, 1].astype(np.float64) * 3).astype(int), 2)
    parts = [projected, *(projected[stripe == s] for s in range(3))]
    expected = reference.normalise(
        [reference.fisher_vector(part, signature.mixture) for part in parts]
    )
    described = signature.describe(image)
    assert described.shape == (signature.dim,) == (4 * 2 * 10 * 16,)
    assert described.dtype == np.float32
    assert described @ expected > 0.99999
    np.testing.assert_allclose(described, expected, atol=2e-3)


@pytest.mark.parametrize("weights", [False, True])
def test_knows_which_features_belong_to_a_gaussian(signature, weights):
    """Moving one Gaussian far away changes its features alone, before any normalisation."""
    more = replace(signature, weights=weights)
    columns = more.columns_of(3)
    assert len(np.unique(columns)) == len(columns) == 4 * (2 * 16 + weights)
    assert sum(len(more.columns_of(k)) for k in range(more.n_words)) == more.dim
    values, positions = make_values(dim=16)
    near = replace(
        signature.mixture,
        means=np.zeros_like(signature.mixture.means),
        variances=np.ones_like(signature.mixture.variances),
    )
    means = near.means.copy()
    means[3] = 1e3
    far = fisher_vectors(
        values, positions, replace(near, means=means), pyramid_of(4), weights=False
    )
    silent = np.flatnonzero(far.reshape(-1) == 0)
    np.testing.assert_array_equal(silent, np.sort(signature.columns_of(3)))


def test_different_images_differ(signature):
    image = photograph()
    other = cv2.resize(data.coins(), (160, 140))
    assert signature.describe(image) @ signature.describe(other) < 0.9


def test_a_signature_with_weights(signature):
    more = replace(signature, weights=True)
    assert more.dim == signature.dim + 4 * 10
    described = more.describe(photograph())
    assert described.shape == (more.dim,)
    assert np.linalg.norm(described) == pytest.approx(1, abs=1e-4)
    again = restore(*flatten(more), Signature)
    np.testing.assert_array_equal(again.describe(photograph()), described)


def test_refuses_parts_that_do_not_fit(signature):
    sift, pca, mixture = signature.descriptor, signature.pca, signature.mixture
    narrow = GaussianMixture(
        mixture.weights, mixture.means[:, :5].copy(), mixture.variances[:, :5].copy()
    )
    for fields in (
        {"mixture": narrow},
        {"pca": learn_pca(make_values()[0], 4)},
        {"descriptor": pca},
        {"regions": 5},
        {"power": 0.0},
        {"weights": 1},
    ):
        options = {"descriptor": sift, "pca": pca, "mixture": mixture} | fields
        with pytest.raises(InputError):
            FisherSignature(**options)


def test_an_image_without_descriptors_has_a_zero_row():
    images = [np.random.default_rng(i).integers(0, 256, (60, 60), dtype=np.uint8) for i in range(3)]
    descriptor = DenseSIFT(keep_empty=False, step=12)
    signature = learn_fisher(images, n_components=2, descriptor=descriptor, threads=1)
    assert not signature.describe(np.full((60, 60), 7, np.uint8)).any()
    for shape in ((1, 50), (3, 3)):  # smaller than a patch, and one pixel high
        noise = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        assert np.isfinite(signature.describe(noise)).all()


def test_coordinates_follow_the_projected_descriptors():
    images = [np.random.default_rng(i).integers(0, 256, (60, 80), dtype=np.uint8) for i in range(4)]
    options = {"descriptor": DenseSIFT(step=12), "n_components": 3, "threads": 1, "regions": 1}
    signature = learn_fisher(images, **options)
    local = signature.descriptor.describe(images[0])
    values = signature.project(local)
    np.testing.assert_array_equal(values[:, -2:], local.positions - np.float32(0.5))
    np.testing.assert_array_equal(values[:, :-2], signature.pca.project(local.values))
    # The PCA is that of the descriptors alone; x and y take the place of two components.
    plain = learn_fisher(images, coordinates=False, **options)
    np.testing.assert_allclose(signature.pca.mean, plain.pca.mean, atol=1e-6)
    assert signature.pca.dim == plain.pca.dim - 2
    assert signature.dim == plain.dim
    again = restore(*flatten(signature))
    np.testing.assert_array_equal(again.describe(images[1]), signature.describe(images[1]))
    with pytest.raises(InputError, match="does not fit"):
        replace(signature, coordinates=False)
