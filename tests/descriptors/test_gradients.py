"""Oriented gradients against arctan2 in float64."""

import numpy as np
import pytest

from myriad.descriptors.gradients import allocate_planes, orient_gradients
from tests.reference import sift as reference


@pytest.mark.parametrize("shape", [(2, 2), (13, 29), (30, 8)])
def test_agrees_with_arctangent(shape):
    image = np.random.default_rng(0).random(shape, dtype=np.float32)
    planes = allocate_planes(*shape)
    planes[:] = np.nan  # everything must be written
    orient_gradients(image, planes)
    expected = reference.oriented_gradient(image.astype(np.float64))
    np.testing.assert_allclose(planes, expected, atol=1e-5)


@pytest.mark.parametrize("orientation", range(8))
def test_a_slope_along_an_orientation_fills_that_one_only(orientation):
    angle = orientation * np.pi / 4
    y, x = np.mgrid[:6, :7]
    image = (0.1 * (np.cos(angle) * x + np.sin(angle) * y)).astype(np.float32)
    planes = allocate_planes(*image.shape)
    orient_gradients(image, planes)
    expected = np.zeros(8)
    expected[orientation] = 0.1
    np.testing.assert_allclose(planes, np.broadcast_to(expected, planes.shape), atol=1e-6)


def test_a_constant_image_has_no_gradient():
    planes = allocate_planes(5, 5)
    orient_gradients(np.full((5, 5), 0.7, np.float32), planes)
    assert not planes.any()
