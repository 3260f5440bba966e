"""Sibling precision on a small hierarchy."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import number_parents, sibling_precision

NAMES = ["cat", "tiger", "lion", "oak", "pine", "rock"]
PARENTS = {"cat": "animal", "tiger": "animal", "lion": "animal", "oak": "tree", "pine": "tree"}


def test_siblings_count_as_right():
    parents = number_parents(NAMES, PARENTS)
    truths = np.array([0, 0, 3, 5, -1], np.int32)
    best = np.array([[1], [3], [3], [5], [0]], np.int32)
    assert sibling_precision(truths, best, parents) == 75.0


def test_no_more_is_asked_for_than_there_are_siblings():
    parents = number_parents(NAMES, PARENTS)
    truths = np.array([3, 0, 5], np.int32)
    best = np.array([[4, 3, 0, 1], [0, 1, 5, 4], [1, 2, 3, 4]], np.int32)
    expected = 100 * np.mean([2 / 2, 2 / 3, 0 / 1])
    np.testing.assert_allclose(sibling_precision(truths, best, parents), expected)
    assert sibling_precision(truths[:0], best[:0], parents) is None


def test_a_hierarchy_of_other_classes():
    with pytest.raises(InputError, match="none of the classes"):
        number_parents(NAMES, {"car": "vehicle"})
