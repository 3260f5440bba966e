"""Last violators [HM, 6]: the paper's table row by row, chains, and Proposition 1 by simulation."""

import numpy as np
import pytest

from myriad.training.embedding.kernels import STATE, choose_violator
from myriad.training.embedding.violators import (
    CLASS_MEMORY,
    PrototypeNorms,
    find_violator,
    harmonic,
)
from tests.reference import wsabie as reference

CAT, DOG, PIG = range(3)


class Trial:
    """Classes whose scores for a row are stated: prototypes are unit vectors, products scores."""

    def __init__(self, n_classes, chain):
        self.P = np.eye(n_classes)
        self.norms = PrototypeNorms(np.zeros(n_classes), np.zeros(n_classes))
        self.memory = np.zeros(n_classes, CLASS_MEMORY)
        self.memory["last_violator"] = -1
        self.state = np.zeros(1, STATE)
        self.state["scale"], self.state["margin"] = 1.0, 1.0
        self.state["max_draws"], self.state["chain"] = n_classes, chain

    def visit(self, labels, violators, key=0):
        """Return the violator that is chosen, and whether the row is skipped."""
        z = np.full(len(self.P), -5.0)
        z[list(violators)] = 0.5
        z[list(labels)] = 1.0
        nothing = np.empty(0)
        before = int(self.state["passed"][0])
        _, c, _ = choose_violator(
            self.P, self.norms, nothing, z, np.array(labels, np.int32), np.uint64(key),
            self.memory, np.empty(0, np.uint8), 0.0, self.state[0],
        )  # fmt: skip
        return c, int(self.state["passed"][0]) > before

    def key_for(self, layout, violators):
        """A key whose draws come upon `layout` first."""
        wrong = [DOG, PIG]
        return next(
            key
            for key in range(100)
            if reference.find_violator(violators, wrong, key, most=3, replacement=False)[0]
            == layout
        )


TABLE_1 = [  # violators, the memory before, whether the row is skipped, the new violator
    ({DOG, PIG}, -1, False, DOG),
    ({DOG, PIG}, DOG, True, -1),
    ({DOG}, DOG, True, -1),
    ({DOG, PIG}, DOG, True, -1),
    ({PIG}, DOG, False, PIG),
    (set(), PIG, False, -1),
    ({DOG}, -1, False, DOG),
    ({DOG}, DOG, True, -1),
]


def test_the_papers_table_of_cats_row_by_row():
    trial = Trial(3, chain=1)
    for violators, before, ignored, sampled in TABLE_1:
        assert trial.memory["last_violator"][CAT] == before
        key = trial.key_for(sampled, violators) if sampled >= 0 else 0
        assert trial.visit([CAT], violators, key) == (sampled, ignored)
    assert trial.memory["last_violator"][CAT] == DOG


def test_the_papers_chain_of_cats():
    tiger, lion, cat, kitten, panther = range(5)
    for order, ignored in [(1, False), (2, False), (3, True), (4, True), (100, True)]:
        trial = Trial(5, chain=order)
        trial.memory["last_violator"] = [lion, cat, kitten, panther, cat]
        _, passed = trial.visit([tiger], {kitten})
        assert passed == ignored


def test_two_classes_that_are_confused_with_each_other_are_not_skipped_for_ever():
    trial = Trial(4, chain=8)
    trial.memory["last_violator"] = [1, 0, -1, -1]
    assert trial.visit([0], {1}) == (-1, True)
    assert trial.visit([0], set()) == (-1, False)  # the chain leads back to the label itself
    assert trial.memory["last_violator"][0] == -1
    assert trial.visit([0], {1}) == (1, False)


def test_a_chain_ends_at_any_label_of_the_row():
    trial = Trial(4, chain=8)
    trial.memory["last_violator"] = [1, 2, -1, -1]
    assert trial.visit([0], {2})[1]
    trial.memory["last_violator"] = [1, 2, -1, -1]
    assert not trial.visit([0, 1], {2}, key=find_key_for_first_label())[1]


def find_key_for_first_label():
    from tests.reference.draws import mix, unit

    return next(key for key in range(100) if unit(mix(key, reference.POSITIVE)) < 0.5)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_proposition_1(p):
    n, runs = 60, 300
    rng = np.random.default_rng(0)
    counted = np.zeros(runs)
    for run in range(runs):
        trial = Trial(3, chain=1)
        for _ in range(n):
            violators = {DOG} if rng.random() < p else set()
            counted[run] += trial.visit([CAT], violators, key=int(rng.integers(1 << 40)))[0] >= 0
    expected = (n - 1) * p * (1 - p) + p
    error = counted.std() / np.sqrt(runs)
    assert abs(counted.mean() - expected) < 4 * error
    assert abs(counted.mean() - n * p) > 10 * error or p == 0.1


@pytest.mark.parametrize("replacement", [False, True])
def test_draws_are_those_of_the_reference(replacement):
    n_classes, labels = 13, np.array([2, 7], np.int32)
    wrong = reference.wrong_classes(n_classes, labels)
    P, z, squares = np.eye(n_classes), np.zeros(n_classes), np.zeros(n_classes)
    z[[4, 11]] = 1.0
    for key in range(200):
        found = find_violator(
            P, squares, z, labels, np.uint64(key), 0.5, np.empty(0, np.uint8), 1.0, 11, replacement
        )
        expected = reference.find_violator({4, 11}, wrong, key, most=11, replacement=replacement)
        assert found == expected


def test_every_violator_is_found_without_replacement():
    P, squares = np.eye(40), np.zeros(40)
    counts = np.zeros(40, int)
    for key in range(4000):
        z = np.zeros(40)
        z[[5, 25]] = 1.0
        c, draws = find_violator(
            P, squares, z, np.array([3], np.int32), np.uint64(key), 0.5, np.empty(0, np.uint8),
            1.0, 39, False,
        )  # fmt: skip
        counts[c] += 1
        assert 1 <= draws <= 39
    assert counts.sum() == counts[5] + counts[25]
    assert 0.45 < counts[5] / 4000 < 0.55


@pytest.mark.parametrize("rank", [1, 2, 31, 32, 33, 1000, 99_999])
def test_harmonic_numbers(rank):
    np.testing.assert_allclose(harmonic(rank), (1 / np.arange(1, rank + 1)).sum(), rtol=1e-13)
