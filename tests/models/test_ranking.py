"""The k best classes: NumPy for a few rows and a kernel for many find the same."""

import numpy as np
import pytest

from myriad.models.ranking import FEW, scan_top, select_top


def rank(function, scores, k):
    labels, best = np.empty((len(scores), k), np.int32), np.empty((len(scores), k), scores.dtype)
    function(scores, labels, best)
    return labels, best


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_are_ranked_as_many_are(k, dtype):
    draws = np.random.default_rng(k)
    scores = draws.integers(0, 6, (FEW, 20)).astype(dtype)  # many ties
    scores[0] = -np.inf
    scores[1, ::2] = -np.inf
    for found, expected in zip(rank(select_top, scores, k), rank(scan_top, scores, k), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_best_come_first_and_the_lowest_class_on_ties():
    scores = np.array([[1.0, 3.0, 2.0, 3.0, 2.0]], np.float32)
    labels, best = rank(select_top, scores, 4)
    assert labels.tolist() == [[1, 3, 2, 4]]
    assert best.tolist() == [[3.0, 3.0, 2.0, 2.0]]


def test_scores_that_are_no_numbers_are_ranked_by_the_kernel():
    scores = np.array([[np.nan, 1.0, 2.0]], np.float32)
    labels, _ = rank(select_top, scores, 2)
    assert set(labels[0].tolist()) <= {0, 1, 2}
