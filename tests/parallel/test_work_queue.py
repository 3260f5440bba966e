"""Tasks shared by threads inside kernels."""

import numpy as np
import pytest

from myriad._jit import jit
from myriad.parallel import open_threads
from myriad.parallel.work_queue import (
    add_tasks,
    close_queue,
    finish_task,
    is_closed,
    is_late,
    make_queue,
    spin,
    take_task,
    wait_for_row,
    wait_until_done,
)

ROUNDS, TASKS = 200, 7


@jit
def run_task(task, before, counts, done):
    """Count a task, and how many of the rounds before were complete when it was run."""
    counts[task] += 1
    whole = 0
    for k in range(task // TASKS * TASKS):
        whole += counts[k] == 1
    before[task] = whole
    done[task] = True


@jit
def run_worker(queue, before, counts, done):
    spins = 0
    while not is_closed(queue):
        task = take_task(queue)
        if task >= 0:
            run_task(task, before, counts, done)
            finish_task(queue)
        else:
            spins = spin(spins)


@jit
def run_rounds(queue, before, counts, done):
    """Add the tasks of each round when those of the round before are done."""
    for _ in range(ROUNDS):
        add_tasks(queue, TASKS)
        task = take_task(queue)
        while task >= 0:
            run_task(task, before, counts, done)
            finish_task(queue)
            task = take_task(queue)
        wait_until_done(queue)


@jit
def wait_and_look(row, marks, queue):
    wait_for_row(row, marks, queue, 1000)
    return is_late(queue)


def test_a_long_wait_is_reported():
    queue, marks = make_queue(), np.array([1, 0])
    assert not wait_and_look(-1, marks, queue)
    assert not wait_and_look(0, marks, queue)
    with open_threads(2) as pool:
        waiting = pool.start(wait_and_look, 1, marks, queue)
        while not is_late(queue):
            pass
        marks[1] = 2
        assert waiting.result()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_task_runs_once_and_rounds_follow_one_another(threads):
    queue, counts = make_queue(), np.zeros(ROUNDS * TASKS, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        open_threads(threads) as pool,
        pool.assisted(lambda: run_worker(queue, before, counts, done), lambda: close_queue(queue)),
    ):
        run_rounds(queue, before, counts, done)
    assert (counts == 1).all()
    assert done.all()
    np.testing.assert_array_equal(before, np.arange(len(counts)) // TASKS * TASKS)


def test_helpers_return_when_the_caller_fails():
    queue, counts = make_queue(), np.zeros(TASKS, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        pytest.raises(RuntimeError, match="lost"),
        open_threads(2) as pool,
        pool.assisted(lambda: run_worker(queue, before, counts, done), lambda: close_queue(queue)),
    ):
        raise RuntimeError("lost")


def fail():
    raise ValueError("broken")


def assist_badly(pool):
    with pool.assisted(fail, lambda: None):
        pool.start(lambda: None).result()  # runs after the helper


def test_an_error_of_a_helper_is_raised():
    with open_threads(2) as pool, pytest.raises(ValueError, match="broken"):
        assist_badly(pool)
