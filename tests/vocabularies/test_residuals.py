"""Residual sums against their twin."""

import numpy as np

from myriad.vocabularies.residuals import add_residuals
from tests.reference import residuals as reference


def test_agrees_with_the_twin():
    rng = np.random.default_rng(0)
    rows, centres = rng.random((200, 5), np.float32), rng.random((7, 5), np.float32)
    words = rng.integers(0, 7, 200).astype(np.int32)
    cells = rng.integers(0, 3, 200).astype(np.int32)
    sums = np.zeros((3, 7, 5), np.float32)
    add_residuals(rows, words, cells, centres, sums)
    expected = reference.sum_residuals(rows, words, cells, centres, 3)
    np.testing.assert_allclose(sums, expected, atol=1e-5)
