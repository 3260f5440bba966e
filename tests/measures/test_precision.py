import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from myriad.measures import average_precisions


def test_area_equals_scikit_learn_where_there_are_no_ties():
    rng = np.random.default_rng(0)
    scores = rng.permutation(600).reshape(200, 3).astype(np.float32)
    positive = rng.random((200, 3)) < [0.1, 0.5, 0.9]
    areas = average_precisions(scores, positive).areas
    for c in range(3):
        expected = 100 * average_precision_score(positive[:, c], scores[:, c])
        assert areas[c] == pytest.approx(expected)


def test_eleven_points_by_hand():
    positive = np.array([[True], [False], [True], [False]])
    scores = np.array([[4.0], [3.0], [2.0], [1.0]], np.float32)
    found = average_precisions(scores, positive)
    areas, eleven_point = found.areas, found.eleven_point
    # Precision is 1 up to recall 0.5 (six points), 2/3 beyond (five points).
    assert eleven_point[0] == pytest.approx(100 * (6 + 5 * 2 / 3) / 11)
    assert areas[0] == pytest.approx(100 * (1 + 2 / 3) / 2)


def test_ties_count_against_and_a_class_without_rows_has_none():
    positive = np.array([[True, False], [False, False]])
    found = average_precisions(np.zeros((2, 2), np.float32), positive)
    areas, eleven_point = found.areas, found.eleven_point
    assert areas[0] == 50
    assert np.isnan(areas[1])
    assert np.isnan(eleven_point[1])
