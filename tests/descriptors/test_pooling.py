"""The weights of pixels in bins, and pooling kernels against their plain twins."""

import numpy as np
import pytest

from myriad.descriptors.grid import patch_centres
from myriad.descriptors.pooling import normalise_histograms, sum_band, swap_axes, window_table
from tests.reference import pooling as reference
from tests.reference import sift


def dense(starts, weights, length):
    matrix = np.zeros((len(starts), length))
    for m, start in enumerate(starts):
        matrix[m, start : start + weights.shape[1]] = weights[m]
    return matrix


@pytest.mark.parametrize("bin_width", [2.0, 6.0, 6 * 2**0.5, 17.0])
@pytest.mark.parametrize("window", ["gaussian", "flat"])
def test_table_lies_inside_and_is_a_distribution(bin_width, window):
    length = 90
    starts, weights = window_table(length, bin_width, 5, window)
    assert weights.shape[1] % 4 == 0
    assert starts.min() >= 0
    assert starts.max() + weights.shape[1] <= length
    sums = weights.reshape(-1, 4, weights.shape[1]).sum(axis=(1, 2))
    assert sums.max() <= 1.02
    middle = sums[len(sums) // 2]
    assert middle == pytest.approx(1.0, abs=0.02)


def test_gaussian_weights_follow_the_formula():
    length, bin_width = 70, 7.3
    starts, weights = window_table(length, bin_width, 4, "gaussian")
    matrix = dense(starts, weights, length)
    x = np.arange(length)
    for i, centre in enumerate(patch_centres(length, bin_width, 4)):
        offsets = (np.arange(4) - 1.5) * bin_width
        triangle = np.maximum(0, 1 - np.abs(x - centre - offsets[:, None]) / bin_width)
        exact = triangle * np.exp(-0.5 * ((x - centre) / (2 * bin_width)) ** 2)
        rows = matrix[4 * i : 4 * i + 4]
        ratio = rows.sum() / exact.sum()
        np.testing.assert_allclose(rows, exact * ratio, atol=1e-7)


def test_flat_window_is_triangular_and_keeps_the_share_of_each_bin():
    starts, weights = window_table(120, 8.0, 120, "flat")
    gauss = window_table(120, 8.0, 120, "gaussian")[1]
    assert len(starts) == 4  # one patch
    matrix = dense(starts, weights, 120)
    peak = matrix.argmax(axis=1)
    np.testing.assert_array_equal(np.diff(peak), 8)
    np.testing.assert_allclose(weights.sum(axis=1), gauss.sum(axis=1), rtol=0.05)


@pytest.mark.parametrize("patch", [8, 9, 10, 11, 13, 24])
def test_no_table_reaches_beyond_the_image(patch):
    """The kernels do not check bounds, so every table that can be asked for must lie inside."""
    for scale in range(4):
        bin_width = patch / 4 * 2 ** (scale / 2)
        for length in range(patch, 6 * patch):
            starts, weights = window_table(length, bin_width, 3, "gaussian")
            assert len(starts) == 0 or starts[-1] + weights.shape[1] <= length
            assert (starts >= 0).all()


@pytest.mark.parametrize("size", [1, 511, 512, 1300])
def test_sum_band(size):
    rng = np.random.default_rng(size)
    rows = rng.random((40, size), dtype=np.float32)
    starts = rng.integers(0, 29, 23).astype(np.int32)
    weights = rng.standard_normal((23, 12)).astype(np.float32)
    sums = np.full((23, size), np.nan, np.float32)
    sum_band(rows, starts, weights, sums)
    np.testing.assert_allclose(sums, reference.sum_band(rows, starts, weights), atol=5e-6)


def test_swap_axes():
    blocks = np.random.default_rng(0).random((7, 11, 8), dtype=np.float32)
    swapped = np.empty((11, 7, 8), np.float32)
    swap_axes(blocks, swapped)
    np.testing.assert_array_equal(swapped, blocks.transpose(1, 0, 2))


def test_normalise_histograms():
    rng = np.random.default_rng(1)
    sums = rng.random((3 * 4, 2 * 4, 8), dtype=np.float32) ** 8
    sums[8:, 4:] *= 1e-6  # the last patch has almost no gradient
    values = np.full((6, 128), np.nan, np.float32)
    normalise_histograms(sums, values, np.float32(1e-3))
    for p in range(6):
        iy, ix = divmod(p, 3)
        raw = sums[4 * ix : 4 * ix + 4, 4 * iy : 4 * iy + 4].transpose(1, 0, 2).ravel()
        expected = sift.normalise(raw.astype(np.float64)) if p < 5 else np.zeros(128)
        np.testing.assert_allclose(values[p], expected, atol=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1e-11, 1e-18, 1e-20, 1e-23, 1e-30, 1e-37])
def test_tiny_histograms_are_normalised_like_others(size):
    sums = np.random.default_rng(2).random((4, 4, 8), dtype=np.float32) ** 8 * np.float32(size)
    values = np.full((1, 128), np.nan, np.float32)
    normalise_histograms(sums, values, np.float32(0.0))
    expected = sift.normalise(sums.transpose(1, 0, 2).ravel().astype(np.float64))
    np.testing.assert_allclose(values[0], expected, atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 1e-45, 1e-38, 1e-30, 1e-22, 1e-13])
@pytest.mark.parametrize("contrast", [0.0, 1e-45, 1e-20])
def test_values_are_always_finite(value, contrast):
    sums = np.zeros((4, 4, 8), np.float32)
    sums[1, 2, 3] = value
    values = np.full((1, 128), np.nan, np.float32)
    normalise_histograms(sums, values, np.float32(contrast))
    expected = np.zeros(128)
    expected[2 * 32 + 1 * 8 + 3] = value > 0
    np.testing.assert_allclose(values[0], expected, atol=1e-6)
