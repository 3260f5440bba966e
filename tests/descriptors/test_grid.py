"""Working sizes and grids."""

import numpy as np
import pytest

from myriad.descriptors.grid import patch_centres, patch_positions, resize, working_size

USUAL = {"max_pixels": 100_000, "min_side": 128, "patch": 24}


def test_a_large_image_is_shrunk_to_the_limit():
    height, width = working_size(3000, 4000, **USUAL)
    assert height * width == pytest.approx(100_000, rel=0.01)
    assert width / height == pytest.approx(4 / 3, rel=0.01)


def test_a_middling_image_is_left_alone():
    assert working_size(270, 370, **USUAL) == (270, 370)


def test_a_small_image_is_enlarged():
    assert working_size(64, 96, **USUAL) == (128, 192)
    assert working_size(1, 1, **USUAL) == (128, 128)


@pytest.mark.parametrize("shape", [(1, 100_000), (10, 1000), (100_000, 3), (1, 50), (20000, 20000)])
def test_any_shape_stays_within_the_limits(shape):
    height, width = working_size(*shape, **USUAL)
    assert min(height, width) >= 24
    assert height * width <= 102_000  # sides are rounded


def test_resize_shrinks_by_area():
    board = np.indices((200, 200)).sum(axis=0) % 2 * np.uint8(255)
    small = resize(board.astype(np.uint8), 100, 100)
    assert small.dtype == np.uint8
    assert 126 <= small.min() <= small.max() <= 129


@pytest.mark.parametrize(("length", "bin_width"), [(270, 6.0), (71, 8.485), (20, 6.0), (19, 6.0)])
def test_centres_are_as_many_as_fit_and_symmetric(length, bin_width):
    centres = patch_centres(length, bin_width, 6)
    reach = 1.5 * bin_width
    assert centres[0] - reach >= 0
    assert centres[-1] + reach <= length - 1
    assert centres[0] - reach < 6
    np.testing.assert_allclose(centres, (length - 1) - centres[::-1])
    np.testing.assert_allclose(np.diff(centres), 6)


def test_no_patch_fits():
    assert len(patch_centres(18, 6.0, 6)) == 0
    assert patch_positions(18, 200, 6.0, 6).shape == (0, 2)


def test_positions_are_fractions_row_by_row():
    positions = patch_positions(60, 120, 6.0, 6)
    assert positions.dtype == np.float32
    assert 0 < positions.min() < positions.max() < 1
    np.testing.assert_allclose(positions + positions[::-1], 1, atol=1e-6)
    assert positions[1, 0] > positions[0, 0]
    assert positions[1, 1] == positions[0, 1]
