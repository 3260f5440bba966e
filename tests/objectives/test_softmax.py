"""Probabilities of the multinomial logistic loss."""

import numpy as np

from myriad.objectives.softmax import probabilities


def test_probabilities_sum_to_one_without_overflow():
    out = np.empty(3)
    probabilities(np.array([1e4, 0.0, -1e4]), np.zeros(3), 1.0, out, np.empty(3))
    np.testing.assert_allclose(out, [1, 0, 0], atol=1e-300)
    probabilities(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 0.0]), 1.0, out, np.empty(3))
    np.testing.assert_allclose(out, 1 / 3)
