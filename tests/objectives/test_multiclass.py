"""The class that violates the margin most."""

import numpy as np

from myriad.objectives import multiclass


def test_multiclass_picks_the_worst_and_the_lowest_on_ties():
    zeros = np.zeros(4)
    assert multiclass.pick(zeros, zeros, 1.0, 2) == 0
    assert multiclass.pick(zeros, zeros, 1.0, 0) == 1
    assert multiclass.pick(np.array([5.0, 1.0, 4.1, 0.0]), zeros, 1.0, 0) == 2
    assert multiclass.pick(np.array([5.0, 1.0, 4.0, 0.0]), zeros, 1.0, 0) == -1
