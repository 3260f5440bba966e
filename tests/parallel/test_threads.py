"""Threads: executors, pools that work through a list together, and when tasks are shared."""

from threading import Event

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.parallel import map_ordered, open_threads, thread_count, thread_executor
from myriad.parallel import threads as module
from myriad.parallel.threads import FEW_THREADS, LONGEST_PAUSE, THREADS_PER_CORE, Backoff


def test_a_pool_calls_with_every_item_once_and_raises_errors():
    for threads in (1, 2, 3):
        done = np.zeros(50, np.int64)

        def work(i, done=done):
            done[i] += 1

        with open_threads(threads) as pool:
            pool.share(work, range(50))
            assert (done == 1).all()
            assert pool.start(lambda a: a + 1, 4).result() == 5
            with pytest.raises(ZeroDivisionError):
                pool.share(lambda i: 1 // (i - 40), range(50))


def test_sharing_does_not_wait_for_a_helper_with_other_work():
    done, free = [], Event()
    with open_threads(2) as pool:
        waiting = pool.start(free.wait, 20)
        pool.share(done.append, range(5))
        assert done == [0, 1, 2, 3, 4]
        free.set()
        assert waiting.result()  # it was set in time: nobody waited for the helper


def test_map_ordered_keeps_order_and_bounds_what_is_ahead():
    begun = []
    with thread_executor(3) as executor:
        found = map_ordered(
            lambda i: i * i, (begun.append(i) or i for i in range(100)), executor, ahead=4
        )
        assert next(found) == 0
        assert len(begun) <= 4
        assert list(found) == [i * i for i in range(1, 100)]


def test_the_number_of_threads():
    assert thread_count(None) >= 1
    assert thread_count(7) == 7
    with pytest.raises(InputError, match="at least 1"):
        thread_count(0)


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


def test_the_number_of_threads_is_bounded():
    assert thread_count(10**6) <= max(FEW_THREADS, THREADS_PER_CORE * thread_count(None))
    assert thread_count(np.int64(3)) == 3


@pytest.mark.parametrize("threads", [0, -1, float("nan"), 2.5, True, "2", [2]])
def test_a_bad_number_of_threads_is_named(threads):
    with pytest.raises(InputError, match="number of threads must be a whole number of at least 1"):
        thread_count(threads)
