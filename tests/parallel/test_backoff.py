"""When helpers are asked, and when not."""

import pytest

from myriad.parallel import backoff as module
from myriad.parallel.backoff import LONGEST_PAUSE, Backoff


@pytest.fixture
def losses(monkeypatch):
    """Return the number, in a list, of times that the core was lost."""
    found = [0]
    monkeypatch.setattr(module, "count_losses", lambda: found[0])
    return found


def work(backoff, late):
    """Do a piece of work, and return whether it was done with help."""
    asked = backoff.asks()
    backoff.learn(late=late and asked)
    return asked


def test_pauses_double_while_help_comes_too_late(losses):
    backoff = Backoff()
    asked = [work(backoff, late=True) for _ in range(1 + 2 + 4 + 8)]
    assert [number for number, helped in enumerate(asked) if helped] == [0, 2, 6, 14]
    for _ in range(20 * LONGEST_PAUSE):
        work(backoff, late=True)
    while not work(backoff, late=True):
        pass
    assert [work(backoff, late=True) for _ in range(LONGEST_PAUSE + 1)] == [False] * 255 + [True]


def test_help_in_time_is_asked_for_again(losses):
    backoff = Backoff()
    for _ in range(7):
        work(backoff, late=True)
    while not work(backoff, late=False):
        pass
    assert all(work(backoff, late=False) for _ in range(50))
    assert work(backoff, late=True)
    assert [work(backoff, late=False) for _ in range(2)] == [False, True]


def test_nobody_is_asked_while_others_take_the_cores(losses):
    backoff = Backoff()
    assert work(backoff, late=True)
    for _ in range(50):
        assert not backoff.asks()
        losses[0] += 1
        backoff.learn(late=False)
    assert [work(backoff, late=False) for _ in range(2)] == [False, True]
