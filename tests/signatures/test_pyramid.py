"""Pyramids: cells tile the image, regions are sums of cells and are normalised."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures.pyramid import PYRAMIDS, Pyramid, check_power, normalise_regions, pyramid_of
from tests.reference import fisher as reference


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


@pytest.mark.parametrize("power", [0.5, 0.3, 1.0])
def test_agrees_with_the_definition(power):
    regions = np.random.default_rng(0).standard_normal((4, 30)).astype(np.float32)
    expected = reference.normalise(regions.astype(np.float64), power)
    np.testing.assert_allclose(normalise_regions(regions, power=power), expected, atol=1e-6)


def test_an_empty_region_stays_zero_and_the_norm_is_one():
    regions = np.random.default_rng(0).standard_normal((3, 10)).astype(np.float32)
    regions[1] = 0
    expected = reference.normalise(regions.astype(np.float64))
    signature = normalise_regions(regions, power=0.5)
    np.testing.assert_allclose(signature, expected, atol=1e-6)
    assert np.linalg.norm(signature) == pytest.approx(1)
    assert not signature[10:20].any()


def test_zero_stays_zero():
    assert not normalise_regions(np.zeros((2, 5), np.float32), power=0.5).any()


@pytest.mark.parametrize("power", [0, -1, 1.5, float("nan"), "half", True, None])
def test_refuses_other_powers(power):
    with pytest.raises(InputError):
        check_power(power)
