"""The class that a step lowers: the worst violator, or one random wrong class."""

import numpy as np

from myriad.objectives.joint import pick_random, pick_worst


def test_multiclass_picks_the_worst_and_the_lowest_on_ties():
    zeros = np.zeros(4)
    assert pick_worst(zeros, zeros, 1.0, 2, np.array([2])) == 0
    assert pick_worst(zeros, zeros, 1.0, 0, np.array([0])) == 1
    assert pick_worst(np.array([5.0, 1.0, 4.1, 0.0]), zeros, 1.0, 0, np.array([0])) == 2
    assert pick_worst(np.array([5.0, 1.0, 4.0, 0.0]), zeros, 1.0, 0, np.array([0])) == -1


def test_multiclass_never_lowers_another_label_of_the_row():
    scores = np.array([5.0, 4.9, 4.5, 0.0])
    assert pick_worst(scores, np.zeros(4), 1.0, 0, np.array([0, 1])) == 2
    assert pick_worst(scores, np.zeros(4), 1.0, 0, np.array([0, 1, 2])) == -1


N_CLASSES = 20
NOTHING = np.zeros((0, 0))


def test_ranking_steps_only_within_the_margin():
    scores = np.full(N_CLASSES, -5.0)
    scores[3], scores[11] = 1.0, 0.5  # the label, and the only class within its margin
    keys = [np.uint64(n * 0x9E3779B97F4A7C15 % 2**64) for n in range(300)]
    drawn = {
        pick_random(scores, NOTHING, scores, np.zeros(N_CLASSES), 1.0, 3, np.array([3]), key)
        for key in keys
    }
    assert drawn == {-1, 11}
