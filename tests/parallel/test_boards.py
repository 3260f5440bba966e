"""Pieces shared out among threads inside kernels."""

import numpy as np
import pytest

from myriad._jit import jit
from myriad.parallel import team
from myriad.parallel.boards import (
    close_board,
    finish_piece,
    is_closed,
    is_late,
    make_board,
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
def assist(board, before, counts, done):
    looks = 0
    while not is_closed(board):
        piece = take_piece(board)
        if piece >= 0:
            do_piece(piece, before, counts, done)
            finish_piece(board)
        else:
            looks = rest(looks)


@jit
def lead(board, before, counts, done):
    """Open the pieces of each round when those of the round before are done."""
    for _ in range(ROUNDS):
        open_pieces(board, PIECES)
        piece = take_piece(board)
        while piece >= 0:
            do_piece(piece, before, counts, done)
            finish_piece(board)
            piece = take_piece(board)
        wait(board)


@jit
def await_row(row, marks, board):
    wait_for(row, marks, board, 1000)
    return is_late(board)


def test_a_long_wait_is_told():
    board, marks = make_board(), np.array([1, 0])
    assert not await_row(-1, marks, board)
    assert not await_row(0, marks, board)
    with team(2) as crew:
        waiting = crew.start(await_row, 1, marks, board)
        while not is_late(board):
            pass
        marks[1] = 2
        assert waiting.result()


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_piece_is_done_once_and_rounds_follow_one_another(threads):
    board, counts = make_board(), np.zeros(ROUNDS * PIECES, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        team(threads) as crew,
        crew.assisted(lambda: assist(board, before, counts, done), lambda: close_board(board)),
    ):
        lead(board, before, counts, done)
    assert (counts == 1).all()
    assert done.all()
    np.testing.assert_array_equal(before, np.arange(len(counts)) // PIECES * PIECES)


def test_helpers_go_home_when_the_caller_fails():
    board, counts = make_board(), np.zeros(PIECES, np.int64)
    before, done = np.zeros_like(counts), np.zeros(len(counts), np.bool_)
    with (
        pytest.raises(RuntimeError, match="lost"),
        team(2) as crew,
        crew.assisted(lambda: assist(board, before, counts, done), lambda: close_board(board)),
    ):
        raise RuntimeError("lost")


def fail():
    raise ValueError("broken")


def assist_badly(crew):
    with crew.assisted(fail, lambda: None):
        crew.start(lambda: None).result()  # comes after the assistant


def test_what_goes_wrong_with_a_helper_is_told():
    with team(2) as crew, pytest.raises(ValueError, match="broken"):
        assist_badly(crew)
