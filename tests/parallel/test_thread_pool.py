"""Threads that share a list of work."""

from threading import Event

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.parallel import map_ordered, open_threads, thread_count, thread_executor


def test_a_team_does_every_piece_once_and_passes_errors_on():
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
        promise = pool.start(free.wait, 20)
        pool.share(done.append, range(5))
        assert done == [0, 1, 2, 3, 4]
        free.set()
        assert promise.result()  # it was set in time: nobody waited for the helper


def test_map_ordered_keeps_order_and_bounds_what_is_under_way():
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
