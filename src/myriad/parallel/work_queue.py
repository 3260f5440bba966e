"""Boards: threads that are inside kernels share out pieces of work without Python.

Handing a piece to a thread by way of the interpreter takes about as long as multiplying a block. So
helpers enter a kernel once for many blocks; there they take the pieces that the caller, in a kernel
of its own, opens on a board. Who finds no piece looks again and again, giving way to other work.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from myriad._jit import inlined, integer, intrinsic, jit, nothing, truth

TAKEN, OPEN, DONE, CLOSED, LATE = 0, 8, 16, 24, 32
"""Places of the numbers of a board, far enough apart that each has its own cache line."""

LOOKS = 2000
"""Times that a thread looks before it gives way to others."""

_WORD = ir.IntType(64)
_GIVE_WAY = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def make_queue(n_pieces: int = 0) -> NDArray[np.int64]:
    """Return a board with so many open pieces."""
    queue = np.zeros(LATE + 8, np.int64)
    queue[OPEN] = n_pieces
    return queue


@intrinsic
def read_number(typing, queue, place):
    """Return a number of the board as the last thread has left it."""

    def write(context, builder, signature, values):
        return builder.load_atomic(_find(context, builder, signature, values), "seq_cst", 8)

    return integer(queue, place), write


@intrinsic
def add_number(typing, queue, place, amount):
    """Add to a number of the board in one motion; return what it was."""

    def write(context, builder, signature, values):
        found = _find(context, builder, signature, values)
        return builder.atomic_rmw("add", found, values[2], "seq_cst")

    return integer(queue, place, integer), write


@intrinsic
def replace_number(typing, queue, place, old, new):
    """Replace a number of the board in one motion if it is still `old`; return whether it was."""

    def write(context, builder, signature, values):
        found = _find(context, builder, signature, values)
        pair = builder.cmpxchg(found, values[2], values[3], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return truth(queue, place, integer, integer), write


@intrinsic
def give_way(typing):
    """Let another thread have the core, if one waits for it."""

    def write(context, builder, signature, values):
        kind = ir.FunctionType(ir.IntType(32), [])
        found = builder.module.globals.get(_GIVE_WAY)
        builder.call(found or ir.Function(builder.module, kind, _GIVE_WAY), [])
        return context.get_dummy_value()

    return nothing(), write


def _find(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Return the address of the number that the first two values speak of."""
    queue = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.gep(queue.data, [values[1]])


@inlined
def open_pieces(queue, n_pieces):
    """Open so many pieces more."""
    add_number(queue, OPEN, n_pieces)


@inlined
def take_piece(queue):
    """Return the number of an open piece that is now the caller's, or -1 if none is open."""
    while True:
        number = read_number(queue, TAKEN)
        if number >= read_number(queue, OPEN):
            return -1
        if replace_number(queue, TAKEN, number, number + 1):
            return number


@inlined
def finish_piece(queue):
    """Say that a piece is done."""
    add_number(queue, DONE, 1)


@inlined
def wait(queue):
    """Wait until all open pieces are done."""
    looks = 0
    while read_number(queue, DONE) < read_number(queue, OPEN):
        looks = rest(looks)


@inlined
def rest(looks):
    """Spend a moment after so many looks in vain, and give way after many; return one more."""
    if looks >= LOOKS:
        give_way()
    return looks + 1


@inlined
def is_closed(queue):
    """Tell whether helpers are to go home."""
    return read_number(queue, CLOSED) > 0


@inlined
def wait_for(row, marks, queue, patience):
    """Wait until a row, if it is not before the first, is marked; say so if that takes long.

    Parameters
    ----------
    marks : int64 array, 0 where a row is not marked yet.
    patience : how many looks are not long yet.
    """
    looks = 0
    while row >= 0 and read_number(marks, row) == 0:
        if looks == patience:
            add_number(queue, LATE, 1)
        if looks >= patience:
            give_way()
        looks += 1


@inlined
def is_late(queue):
    """Tell whether somebody has waited for long: who works meanwhile may have lost the core."""
    return read_number(queue, LATE) > 0


@jit
def close_queue(queue):
    """Send the helpers home."""
    add_number(queue, CLOSED, 1)
