"""One random wrong class a row."""

import numpy as np

from myriad.objectives import ranking

N_CLASSES = 20
NOTHING = np.zeros((0, 0))


def test_ranking_steps_only_within_the_margin():
    scores = np.full(N_CLASSES, -5.0)
    scores[3], scores[11] = 1.0, 0.5  # the label, and the only class within its margin
    keys = [np.uint64(n * 0x9E3779B97F4A7C15 % 2**64) for n in range(300)]
    drawn = {
        ranking.pick(scores, NOTHING, scores, np.zeros(N_CLASSES), 1.0, 3, np.array([3]), key)
        for key in keys
    }
    assert drawn == {-1, 11}
