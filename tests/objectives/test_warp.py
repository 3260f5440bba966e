"""WARP: violators, ranks, chains of last violators."""

import numpy as np
import pytest

from myriad.objectives import warp

N_CLASSES = 20
NOTHING = np.zeros((0, 0))


def option(**changes):
    record = np.zeros(1, warp.WARP)
    record["replacement"], record["max_draws"] = True, N_CLASSES
    for name, value in changes.items():
        record[name] = value
    return record[0]


def key(number):
    return np.uint64(number * 0x9E3779B97F4A7C15 % 2**64)


def find(scores, label, number, **changes):
    truth = scores[label]
    return warp.find_by_draws(
        scores, NOTHING, scores, np.zeros(N_CLASSES), 1.0, truth, np.array([label]), key(number),
        option(**changes),
    )  # fmt: skip


def lone_violator():
    scores = np.full(N_CLASSES, -5.0)
    scores[3], scores[11] = 1.0, 0.5  # the label, and the only class within its margin
    return scores


def test_drawing_without_replacement_finds_a_lone_violator_always():
    found = [find(lone_violator(), 3, n, replacement=False)[0] for n in range(300)]
    assert set(found) == {11}


def test_drawing_with_replacement_misses_it_as_often_as_theory_says():
    missed = np.mean([find(lone_violator(), 3, n)[0] < 0 for n in range(4000)])
    assert missed == pytest.approx((1 - 1 / 19) ** 19, abs=0.03)


def test_a_cap_on_draws_is_kept():
    draws = [find(lone_violator(), 3, n, replacement=False, max_draws=4)[1] for n in range(200)]
    assert max(draws) == 4


def test_exact_rank_counts_all_violators_and_picks_each_alike():
    scores = np.full(N_CLASSES, -5.0)
    scores[[2, 4, 9]] = 0.0
    picked = []
    for number in range(3000):
        c, rank = warp.find_exactly(
            scores, NOTHING, scores, np.zeros(N_CLASSES), 1.0, scores[2], np.array([2]), key(number)
        )
        assert rank == 2
        picked.append(c)
    assert np.mean(np.array(picked) == 4) == pytest.approx(0.5, abs=0.05)


def remembered(last, violating, label, chain):
    scores = np.full(N_CLASSES, -5.0)
    scores[label] = 0.0
    scores[list(violating)] = 0.0
    memory = np.full(N_CLASSES, -1)
    for c, v in last.items():
        memory[c] = v
    labels, zeros = np.array([label]), np.zeros(N_CLASSES)
    return warp.has_known_violator(
        scores, NOTHING, scores, zeros, 1.0, 0.0, label, labels, memory, chain
    )


def test_the_chain_of_last_violators():
    cat, dog, pig = 0, 1, 2
    assert remembered({cat: dog}, {dog}, cat, 1)
    assert not remembered({cat: dog}, {pig}, cat, 1)
    assert not remembered({cat: dog, dog: pig}, {pig}, cat, 1)
    assert remembered({cat: dog, dog: pig}, {pig}, cat, 2)
    assert not remembered({}, {pig}, cat, 5)


def test_the_chain_ends_at_the_label_itself():
    cat, dog = 0, 1
    assert not remembered({cat: dog, dog: cat}, set(), cat, 8)
