"""Tests of folds and of the comparison of candidates on held-out rows."""

import numpy as np
import pytest

from myriad import InputError
from myriad.training.automatic.folds import ENOUGH_ROWS, Judge, choose_folds, draw_folds


class TestDrawFolds:
    def test_rows_of_a_class_are_spread_evenly(self):
        labels = np.repeat(np.arange(7, dtype=np.int32), 10)
        folds = draw_folds(labels, 5, seed=0)
        for label in range(7):
            assert (np.bincount(folds[labels == label], minlength=5) == 2).all()

    def test_folds_are_equally_large_where_classes_are_small(self):
        labels = np.arange(30, dtype=np.int32) // 2
        assert (np.bincount(draw_folds(labels, 3, seed=1)) == 10).all()

    def test_rows_without_a_label_are_in_no_fold(self):
        labels = np.array([0, -1, 1, 0, 1, -1], np.int32)
        assert (draw_folds(labels, 2, seed=0)[[1, 5]] == -1).all()

    def test_a_seed_gives_the_same_folds_again_and_another_seed_others(self):
        labels = np.repeat(np.arange(5, dtype=np.int32), 20)
        first = draw_folds(labels, 3, seed=3)
        assert (first == draw_folds(labels, 3, seed=3)).all()
        assert (first != draw_folds(labels, 3, seed=4)).any()

    def test_groups_are_not_divided(self):
        draws = np.random.default_rng(0)
        labels = draws.integers(4, size=300).astype(np.int32)
        groups = draws.integers(40, size=300)
        folds = draw_folds(labels, 3, seed=0, groups=groups)
        for group in range(40):
            assert len(np.unique(folds[groups == group])) == 1
        assert np.bincount(folds).min() > 60

    def test_rows_of_no_group_stand_alone(self):
        labels, groups = np.zeros(30, np.int32), np.full(30, -1, np.int32)
        folds = draw_folds(labels, 3, seed=0, groups=groups)
        assert np.bincount(folds).tolist() == [10, 10, 10]

    def test_fewer_groups_than_folds_are_refused(self):
        with pytest.raises(InputError, match="3 folds need as many groups"):
            draw_folds(np.zeros(9, np.int32), 3, seed=0, groups=np.arange(9) % 2)


def test_as_many_folds_are_used_as_hold_out_enough_rows():
    few = np.arange(3000) % 3
    many = np.arange(3 * ENOUGH_ROWS) % 3
    assert choose_folds(few, 3) == [0, 1, 2]
    assert choose_folds(many, 3) == [0]


class TestJudge:
    def test_accuracy_of_rows_where_classes_are_of_similar_size(self):
        labels = np.repeat(np.arange(2, dtype=np.int32), [60, 40])
        judge = Judge.of(labels, np.arange(100), 2)
        correct = labels == 0
        assert not judge.by_class
        assert judge.score(correct) == pytest.approx(60)
        assert judge.error(correct) == pytest.approx(100 * np.sqrt(0.6 * 0.4 / 100))

    def test_accuracy_of_classes_where_their_sizes_differ(self):
        labels = np.repeat(np.arange(2, dtype=np.int32), [90, 10])
        judge = Judge.of(labels, np.arange(100), 2)
        assert judge.by_class
        assert judge.score(labels == 0) == pytest.approx(50)

    def test_the_error_of_a_difference_is_that_of_paired_rows(self):
        labels = np.zeros(400, np.int32)
        judge = Judge.of(labels, np.arange(400), 1)
        first = np.arange(400) < 300
        assert judge.difference(first, first) == (0.0, 0.0)
        second = first.copy()
        second[:8] = False
        gain, error = judge.difference(first, second)
        assert gain == pytest.approx(2)
        assert error == pytest.approx(100 * np.sqrt(0.02 * 0.98 / 400), rel=1e-6)
