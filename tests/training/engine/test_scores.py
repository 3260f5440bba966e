"""Tests of scores of many rows."""

import numpy as np
import pytest

from myriad.training.engine.scores import PACKED_ROWS, score_rows


@pytest.mark.parametrize("n", [0, 1, PACKED_ROWS, PACKED_ROWS + 3])
@pytest.mark.parametrize("n_classes", [1, 17, 40])
def test_scores_by_tiles_are_those_of_numpy(n, n_classes):
    draws = np.random.default_rng(0)
    X, V = (draws.standard_normal((size, 37), np.float32) for size in (n, n_classes))
    found = score_rows(X, V)
    assert found.shape == (n, n_classes)
    np.testing.assert_allclose(found, X @ V.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found[:1], score_rows(X[:1], V))  # whatever the other rows are
