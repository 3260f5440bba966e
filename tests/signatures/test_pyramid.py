"""Pyramids: cells tile the image, regions are sums of cells."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures.pyramid import PYRAMIDS, Pyramid, pyramid_of


@pytest.mark.parametrize(("regions", "n_cells"), [(1, 1), (4, 3), (8, 8)])
def test_numbers_of_cells_and_regions(regions, n_cells):
    pyramid = pyramid_of(regions)
    assert len(pyramid.regions) == regions
    assert pyramid.n_cells == n_cells
    assert pyramid.membership.shape == (regions, n_cells)
    assert pyramid.membership[0].all()


@pytest.mark.parametrize("regions", PYRAMIDS)
def test_a_region_holds_the_positions_inside_it(regions):
    pyramid = PYRAMIDS[regions]
    positions = np.random.default_rng(0).random((500, 2), dtype=np.float32)
    cells = pyramid.locate(positions)
    assert cells.dtype == np.int32
    counts = np.bincount(cells, minlength=pyramid.n_cells).astype(np.float32)
    sums = pyramid.sum_cells(counts)
    x, y = positions.T
    for (left, top, right, bottom), found in zip(pyramid.regions, sums, strict=True):
        assert found == ((left <= x) & (x < right) & (top <= y) & (y < bottom)).sum()


def test_stripes_run_from_top_to_bottom():
    pyramid = pyramid_of(4)
    positions = np.array([[0.9, 0.1], [0.1, 0.5], [0.5, 0.9]], np.float32)
    np.testing.assert_array_equal(pyramid.locate(positions), [0, 1, 2])
    np.testing.assert_array_equal(pyramid.membership[1:], np.eye(3, dtype=bool))


def test_the_ends_belong_to_the_outer_cells():
    pyramid = pyramid_of(8)
    corners = np.array([[0, 0], [1, 1], [1.01, 1.01]], np.float32)
    np.testing.assert_array_equal(pyramid.locate(corners), [0, 7, 7])


def test_overlapping_regions_are_possible():
    pyramid = Pyramid(((0.0, 0.0, 0.75, 1.0), (0.25, 0.0, 1.0, 1.0)))
    np.testing.assert_array_equal(pyramid.membership, [[True, True, False], [False, True, True]])


@pytest.mark.parametrize("regions", [0, 3, "4", True, 4.0, None])
def test_refuses_other_numbers(regions):
    with pytest.raises(InputError, match="1, 4 or 8"):
        pyramid_of(regions)
