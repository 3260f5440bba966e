"""Measures of probabilities that are nearly perfect; see `test_answers` for all others."""

import numpy as np
import pytest

from myriad.measures.calibration import measure_calibration


@pytest.mark.parametrize("nearly", [-1, 0, 1])
def test_probabilities_of_one_have_no_loss_below_zero(nearly):
    """Squares that were rounded to float32 may be smaller than those of the probabilities."""
    one = np.nextafter(np.float32(1), np.float32(1 + nearly))
    found = measure_calibration(
        np.full(9, one), np.ones(9, bool), np.full(9, one), np.full(9, np.float32(1 - 2e-7))
    )
    assert 0.0 <= found.brier < 1e-6
    assert 0.0 <= found.log_loss < 1e-6
    assert max(found.error, found.chance) < 1e-6
    assert all(one.confidence <= 1.0 for one in found.bins)
