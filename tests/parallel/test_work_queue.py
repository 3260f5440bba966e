"""Pieces shared out among threads inside kernels."""

import numpy as np
import pytest

from myriad._jit import jit
from myriad.parallel import open_threads
from myriad.parallel.work_queue import (
    close_queue,
    finish_piece,
    is_closed,
    is_late,
    make_queue,
    open_pieces,
    rest,
    take_piece,
    wait,
    wait_for,
)

ROUNDS, PIECES = 200, 7


@jit
def do_piece(piece, before, counts, done):
    """Count a piece, and how many of the rounds before were whole when it was done."""
    counts[piece] += 1
    whole = 0
    for k in range(piece // PIECES * PIECES):
        whole += counts[k] == 1
    before[piece] = whole
    done[piece] = True


@jit
def assist(queue, before, counts, done):
    looks = 0
    while not is_closed(queue):
        piece = take_piece(queue)
        if piece >= 0:
            do_piece(piece, before, counts, done)
            finish_piece(queue)
        else:
            looks = rest(looks)


@jit
def lead(queue, before, counts, done):
    """Open the pieces of each round when those of the round before are done."""
    for _ in range(ROUNDS):
        open_pieces(queue, PIECES)
        piece = take_piece(queue)
        while piece >= 0:
            do_piece(piece, before, counts, done)
            finish_piece(queue)
            piece = take_piece(queue)
        wait(queue)


@jit
def await_row(row, marks, queue):
    wait_for(row, marks, queue, 1000)
    return is_late(queue)


def test_a_long_wait_is_told():
    queue, marks = make_queue(), np.array([1, 0])
    assert not await_row(-1, marks, queue)
    assert not await_row(0, marks, queue)
    with open_threads(2) as pool:
        waiting = pool.start(await_row, 1, marks, queue)
        while not is_late(queue):
            pass
        marks[1] = 2
        assert waiting.result()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_piece_is_done_once_and_rounds_follow_one_another(threads):
    queue, counts = make_queue(), np.zeros(ROUNDS * PIECES, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        open_threads(threads) as pool,
        pool.assisted(lambda: assist(queue, before, counts, done), lambda: close_queue(queue)),
    ):
        lead(queue, before, counts, done)
    assert (counts == 1).all()
    assert done.all()
    np.testing.assert_array_equal(before, np.arange(len(counts)) // PIECES * PIECES)


def test_helpers_go_home_when_the_caller_fails():
    queue, counts = make_queue(), np.zeros(PIECES, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        pytest.raises(RuntimeError, match="lost"),
        open_threads(2) as pool,
        pool.assisted(lambda: assist(queue, before, counts, done), lambda: close_queue(queue)),
    ):
        raise RuntimeError("lost")


def fail():
    raise ValueError("broken")


def assist_badly(pool):
    with pool.assisted(fail, lambda: None):
        pool.start(lambda: None).result()  # comes after the assistant


def test_what_goes_wrong_with_a_helper_is_told():
    with open_threads(2) as pool, pytest.raises(ValueError, match="broken"):
        assist_badly(pool)
