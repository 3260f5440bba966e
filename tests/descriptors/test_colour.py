"""Colour statistics against their definition, and together with SIFT."""

import cv2
import numpy as np
import pytest
from skimage import data

from myriad.descriptors import DESCRIPTORS, DenseSIFT, GridDescriptor, LocalColour, SiftColour
from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from myriad.vocabularies import learn_pca
from tests.reference import colour as reference

EVERY = pytest.mark.parametrize("kind", DESCRIPTORS.values())


def photograph(height, width):
    return cv2.resize(data.astronaut()[:300], (width, height), interpolation=cv2.INTER_AREA)


def fit(image, kind):
    return image if kind.colour else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)


def test_agrees_with_the_definition():
    image = photograph(53, 61)
    local = LocalColour(step=7, scales=3, min_side=1).describe(image)
    centres = np.round(2 * (local.positions * (61, 53) - 0.5)) / 2  # whole or half pixels
    done = 0
    for bin_width, count in ((6.0, 5 * 7), (6 * 2**0.5, 4 * 5), (12.0, 3 * 4)):
        part = slice(done, done + count)
        expected = reference.describe(image, centres[part], bin_width)
        np.testing.assert_allclose(local.values[part], expected, atol=1e-6)
        done += count
    assert done == len(local)
    assert local.values.dtype == np.float32


def test_has_the_usual_length_and_tells_colours_from_one_another():
    image = np.zeros((140, 150, 3), np.uint8)
    image[..., 0] = 255
    values = LocalColour().describe(image).values.reshape(-1, 16, 2, 3)
    assert LocalColour.dim == 96
    np.testing.assert_array_equal(values[:, :, 0], np.broadcast_to([1, 0, 0], (len(values), 16, 3)))
    assert not values[:, :, 1].any()


def test_no_cell_is_empty_however_small_the_patch():
    noise = np.random.default_rng(0).integers(0, 256, (40, 47, 3), dtype=np.uint8)
    values = LocalColour(patch=8, step=1, scales=4, min_side=1).describe(noise).values
    assert np.isfinite(values).all()
    assert values.min() >= 0
    assert values.max() <= 1


def test_both_describe_the_same_patches():
    image = photograph(130, 140)
    both = SiftColour(scales=3).describe(image)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    sift, colour = DenseSIFT(scales=3).describe(grey), LocalColour(scales=3).describe(image)
    np.testing.assert_array_equal(both.values[:, :128], sift.values)
    np.testing.assert_array_equal(both.values[:, 128:], colour.values / 2)
    for other in (sift, colour):
        np.testing.assert_array_equal(both.positions, other.positions)


def test_a_pca_of_both_keeps_something_of_both():
    """Neither part may fill the components that a signature keeps."""
    images = [photograph(160, 200), data.coffee()[100:260, 100:300], data.cat()[:160, :200]]
    values = np.concatenate([SiftColour().describe(image).values for image in images])
    pca = learn_pca(values, SiftColour.pca_dim)
    colour = (pca.components[:, 128:] ** 2).sum(axis=1) @ pca.variances / pca.variances.sum()
    assert 0.2 < colour < 0.8


@EVERY
def test_every_descriptor_tells_where_its_patches_lie(kind):
    descriptor = kind(scales=2)
    image = fit(photograph(150, 200), kind)
    boxes = np.array(descriptor.find_patches(image))
    local = descriptor.describe(image)
    assert boxes.shape == (len(local), 4)
    np.testing.assert_allclose((boxes[:, :2] + boxes[:, 2:]) / 2, local.positions, atol=1e-6)
    sides = (boxes[:, 2] - boxes[:, 0]) * 200
    np.testing.assert_allclose([sides[0], sides[-1]], [24, 24 * 2**0.5])


@EVERY
@pytest.mark.parametrize("shape", [(1, 1), (2, 900), (23, 24), (150, 200)])
def test_tiny_and_constant_images_are_defined(kind, shape):
    image = np.full((*shape, 3), 77, np.uint8)
    local = kind().describe(fit(image, kind))
    assert len(local) >= 40
    assert np.isfinite(local.values).all()
    assert local.values.shape == (len(local), kind.dim)


@EVERY
def test_survives_a_round_trip_and_refuses_other_images(kind):
    again = restore(*flatten(kind(step=5, patch=16)), GridDescriptor)
    assert (type(again), again.step, again.patch) == (kind, 5, 16)
    wrong = np.zeros((5, 5) if kind.colour else (5, 5, 3), np.uint8)
    with pytest.raises(InputError, match="height, width"):
        again.describe(wrong)


@EVERY
@pytest.mark.parametrize("options", [{"patch": 4}, {"step": 2.5}, {"max_pixels": 10}])
def test_refuses_bad_settings(kind, options):
    with pytest.raises(InputError):
        kind(**options)


@pytest.mark.parametrize("share", [0, -1, float("nan"), True, "half"])
def test_refuses_a_bad_share(share):
    with pytest.raises(InputError, match="share"):
        SiftColour(share=share)
