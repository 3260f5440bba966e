"""Compiling in another process: when it is started, waited for and ended."""

import subprocess
import sys

import pytest

from myriad.pipelines import compiling
from myriad.pipelines.compiling import _start as start_program  # no test has replaced it yet
from myriad.pipelines.compiling import compiling_ahead, wait_for_kernels

WAIT_FOR_INPUT = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def started(monkeypatch):
    """Processes that were started in place of the compiling one; each runs until it is ended."""
    found = []

    def start():
        found.append(subprocess.Popen(WAIT_FOR_INPUT, stdin=subprocess.PIPE))
        return found[-1]

    monkeypatch.setattr(compiling, "_is_needed", lambda: True)
    monkeypatch.setattr(compiling, "_start", start)
    return found


def test_nothing_is_started_if_kernels_are_cached(started, monkeypatch):
    monkeypatch.setattr(compiling, "_is_needed", lambda: False)
    with compiling_ahead(2):
        wait_for_kernels()
    assert not started


def test_nothing_is_started_on_one_thread(started):
    with compiling_ahead(1):
        wait_for_kernels()
    assert not started


def test_one_process_serves_a_job_inside_a_job(started):
    with compiling_ahead(2):
        with compiling_ahead(2):
            pass
        assert started[0].poll() is None
    assert len(started) == 1
    assert started[0].poll() is not None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_process_ends_with_a_job_that_fails(started, error):
    with pytest.raises(error), compiling_ahead(2):
        raise error
    assert started[0].poll() is not None
    wait_for_kernels()


def test_a_process_that_fails_or_cannot_be_started_changes_nothing(started, monkeypatch):
    with compiling_ahead(2):
        started[0].kill()
        wait_for_kernels()
    monkeypatch.setattr(compiling, "_start", lambda: None)
    with compiling_ahead(2):
        wait_for_kernels()


def test_waiting_has_a_timeout_and_is_explained(started, monkeypatch):
    reported = []
    monkeypatch.setattr(compiling, "report_compiling", reported.append)
    monkeypatch.setattr(compiling, "LONG_COMPILING", 0.01)
    monkeypatch.setattr(compiling, "LONGEST_WAIT", 0.01)
    with compiling_ahead(2):
        wait_for_kernels()
        assert started[0].poll() is None
    assert reported == [0.01]


def test_the_program_ends_with_its_parent():
    program = start_program()
    program.communicate()  # closes the pipe, as the end of this process would
    assert program.returncode == 1


def test_the_kernels_that_are_looked_for_are_compiled():
    compiling.compile_kernels()
    assert not compiling._is_needed()
