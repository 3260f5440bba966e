"""When helpers are asked, and when not."""

import pytest

from myriad.parallel import caution as module
from myriad.parallel.caution import LONGEST_PAUSE, Caution


@pytest.fixture
def losses(monkeypatch):
    """Return the number, in a list, of times that the core was lost."""
    found = [0]
    monkeypatch.setattr(module, "count_losses", lambda: found[0])
    return found


def work(caution, late):
    """Do a piece of work, and return whether it was done with help."""
    asked = caution.asks()
    caution.learn(late=late and asked)
    return asked


def test_pauses_double_while_help_comes_too_late(losses):
    caution = Caution()
    asked = [work(caution, late=True) for _ in range(1 + 2 + 4 + 8)]
    assert [number for number, helped in enumerate(asked) if helped] == [0, 2, 6, 14]
    for _ in range(20 * LONGEST_PAUSE):
        work(caution, late=True)
    while not work(caution, late=True):
        pass
    assert [work(caution, late=True) for _ in range(LONGEST_PAUSE + 1)] == [False] * 255 + [True]


def test_help_in_time_is_asked_for_again(losses):
    caution = Caution()
    for _ in range(7):
        work(caution, late=True)
    while not work(caution, late=False):
        pass
    assert all(work(caution, late=False) for _ in range(50))
    assert work(caution, late=True)
    assert [work(caution, late=False) for _ in range(2)] == [False, True]


def test_nobody_is_asked_while_others_take_the_cores(losses):
    caution = Caution()
    assert work(caution, late=True)
    for _ in range(50):
        assert not caution.asks()
        losses[0] += 1
        caution.learn(late=False)
    assert [work(caution, late=False) for _ in range(2)] == [False, True]
