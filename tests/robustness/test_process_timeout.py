"""Timeouts of processes: CPU time counts, and waiting, but not the time in which all is paused."""

import os
import signal
import subprocess
import sys

import pytest

from tests.robustness import process_timeout
from tests.robustness.process_timeout import IDLE, ProcessTimeout


@pytest.fixture
def clock(monkeypatch):
    """Return a list with the time, which the test advances."""
    now = [0.0]
    monkeypatch.setattr(process_timeout.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def waiting():
    """A process that waits for its input."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def count_checks(timeout, clock, seconds, step=0.5):
    """Return how often a timeout is checked within some seconds until it has expired."""
    for number in range(int(seconds / step)):
        clock[0] += step
        if timeout.is_expired():
            return number
    return None


def test_a_process_that_waits_for_ever_expires(clock, waiting):
    timeout = ProcessTimeout(waiting, 3)
    assert count_checks(timeout, clock, IDLE * 3) is None
    assert count_checks(timeout, clock, 1) == 0
    timeout.reset()
    assert count_checks(timeout, clock, IDLE * 3) is None


def test_a_long_gap_between_two_checks_is_a_pause_of_the_checking_process(clock, waiting):
    timeout = ProcessTimeout(waiting, 3)
    clock[0] += 10_000
    assert not timeout.is_expired()
    assert count_checks(timeout, clock, IDLE * 3) is not None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_stopped_process_does_not_expire(clock, waiting):
    timeout = ProcessTimeout(waiting, 3)
    os.kill(waiting, signal.SIGSTOP)
    os.waitpid(waiting, os.WUNTRACED)
    assert count_checks(timeout, clock, 10_000) is None
    os.kill(waiting, signal.SIGCONT)
    os.waitpid(waiting, os.WCONTINUED)
    assert count_checks(timeout, clock, 2 * IDLE * 3) is not None
