"""When tasks are shared with helpers, and when not."""

import pytest

from myriad.parallel import backoff as module
from myriad.parallel.backoff import LONGEST_PAUSE, Backoff


@pytest.fixture
def preemptions(monkeypatch):
    """Return the number of times that the core was lost, in a list."""
    found = [0]
    monkeypatch.setattr(module, "count_preemptions", lambda: found[0])
    return found


def work(backoff, late):
    """Do a task, and return whether it was shared."""
    shared = backoff.should_share()
    backoff.record(late=late and shared)
    return shared


def test_pauses_double_while_helpers_are_late(preemptions):
    backoff = Backoff()
    shared = [work(backoff, late=True) for _ in range(1 + 2 + 4 + 8)]
    assert [number for number, helped in enumerate(shared) if helped] == [0, 2, 6, 14]
    for _ in range(20 * LONGEST_PAUSE):
        work(backoff, late=True)
    while not work(backoff, late=True):
        pass
    assert [work(backoff, late=True) for _ in range(LONGEST_PAUSE + 1)] == [False] * 255 + [True]


def test_helpers_in_time_are_used_again(preemptions):
    backoff = Backoff()
    for _ in range(7):
        work(backoff, late=True)
    while not work(backoff, late=False):
        pass
    assert all(work(backoff, late=False) for _ in range(50))
    assert work(backoff, late=True)
    assert [work(backoff, late=False) for _ in range(2)] == [False, True]


def test_nothing_is_shared_while_others_take_the_cores(preemptions):
    backoff = Backoff()
    assert work(backoff, late=True)
    for _ in range(50):
        assert not backoff.should_share()
        preemptions[0] += 1
        backoff.record(late=False)
    assert [work(backoff, late=False) for _ in range(2)] == [False, True]
