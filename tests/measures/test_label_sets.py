import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets

LISTS = [[2, 0], [], [1], [3, 3, 1]]


def test_lists_and_matrix_are_the_same_sets():
    sets = LabelSets.from_lists(LISTS)
    again = LabelSets.from_matrix(sets.to_matrix(4))
    assert [again.of(i).tolist() for i in range(4)] == [[0, 2], [], [1], [1, 3]]
    assert sets.sizes.tolist() == [2, 0, 1, 2]
    assert sets.first().tolist() == [0, -1, 1, 1]
    assert sets.counts(5).tolist() == [1, 2, 1, 1, 0]


def test_some_rows_in_another_order():
    some = LabelSets.from_lists(LISTS).select(np.array([3, 1, 0, 3]))
    assert [some.of(i).tolist() for i in range(4)] == [[1, 3], [], [0, 2], [1, 3]]


def test_classes_get_other_numbers_and_some_none():
    sets = LabelSets.from_lists(LISTS).renumbered(np.array([7, 5, -1, 2], np.int32))
    assert [sets.of(i).tolist() for i in range(4)] == [[7], [], [5], [2, 5]]


def test_one_label_a_row():
    sets = LabelSets.from_labels(np.array([4, -1, 0], np.int32))
    assert [sets.of(i).tolist() for i in range(3)] == [[4], [], [0]]


def test_sets_that_do_not_add_up_are_refused():
    with pytest.raises(InputError):
        LabelSets(np.array([0, 3], np.int64), np.array([1], np.int32))
    with pytest.raises(InputError):
        LabelSets.from_lists([[-1]])
