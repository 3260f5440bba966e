"""The weights of pixels in bins."""

import numpy as np
import pytest

from myriad.descriptors.geometry import patch_centres
from myriad.descriptors.windows import window_table


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
