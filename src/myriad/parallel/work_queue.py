"""A queue of numbered tasks that threads inside kernels share without the interpreter.

Handing a task to a thread through the interpreter takes about as long as multiplying a block. So
helper threads enter a kernel once for many blocks; there they take the tasks that the caller, in a
kernel of its own, adds to a queue. A thread that finds no task spins, and after a while yields its
core to other work.

A queue is an int64 array of a few counters, which are only read and written atomically. Tasks are
numbered from 0 on: those below `TAKEN` have an owner, those below `OPEN` exist. A task's result may
be used once `DONE` equals `OPEN`: a thread counts a task as done after its last write to memory,
and both operations are sequentially consistent.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, intrinsic, ir, jit, types

TAKEN, OPEN, DONE, CLOSED, LATE = 0, 8, 16, 24, 32
"""Positions of the counters: 64 bytes apart, so that each has a cache line of its own."""

SPINS = 2000
"""Number of times that a thread looks for a task before it yields its core."""

_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


def make_queue(n_tasks: int = 0) -> NDArray[np.int64]:
    """Return a queue with `n_tasks` tasks to take."""
    queue = np.zeros(LATE + 8, np.int64)
    queue[OPEN] = n_tasks
    return queue


@intrinsic
def load_counter(typing, counters, position):
    """Return a counter, read atomically."""

    def write(context, builder, signature, values):
        return builder.load_atomic(_find(context, builder, signature, values), "seq_cst", 8)

    return types.int64(counters, position), write


@intrinsic
def add_to_counter(typing, counters, position, amount):
    """Add to a counter atomically; return its old value."""

    def write(context, builder, signature, values):
        found = _find(context, builder, signature, values)
        return builder.atomic_rmw("add", found, values[2], "seq_cst")

    return types.int64(counters, position, types.int64), write


@intrinsic
def compare_and_swap(typing, counters, position, old, new):
    """Set a counter to `new` atomically if it is still `old`; return whether it was."""

    def write(context, builder, signature, values):
        found = _find(context, builder, signature, values)
        pair = builder.cmpxchg(found, values[2], values[3], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(counters, position, types.int64, types.int64), write


@intrinsic
def yield_core(typing):
    """Yield the core to another thread (``sched_yield``)."""

    def write(context, builder, signature, values):
        kind = ir.FunctionType(ir.IntType(32), [])
        found = builder.module.globals.get(_YIELD)
        builder.call(found or ir.Function(builder.module, kind, _YIELD), [])
        return context.get_dummy_value()

    return types.void(), write


def _find(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Return the address of the counter given by the first two arguments, array and position."""
    counters = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.gep(counters.data, [values[1]])


@inlined
def add_tasks(queue, n_tasks):
    """Add `n_tasks` tasks."""
    add_to_counter(queue, OPEN, n_tasks)


@jit
def take_task(queue):
    """Take a task; return its number, or -1 if there is none."""
    while True:
        number = load_counter(queue, TAKEN)
        if number >= load_counter(queue, OPEN):
            return -1
        # Another thread may have taken it since: then the swap fails, and the next one is tried.
        if compare_and_swap(queue, TAKEN, number, number + 1):
            return number


@inlined
def finish_task(queue):
    """Count a task as done."""
    add_to_counter(queue, DONE, 1)


@jit
def wait_until_done(queue):
    """Wait until all tasks added so far are done."""
    spins = 0
    while load_counter(queue, DONE) < load_counter(queue, OPEN):
        spins = spin(spins)


@inlined
def spin(spins):
    """Return the number of spins plus one, after yielding the core if it is large."""
    if spins >= SPINS:
        yield_core()
    return spins + 1


@inlined
def is_closed(queue):
    """Return whether no more tasks will come, so that helpers should return."""
    return load_counter(queue, CLOSED) > 0


@inlined
def wait_for_row(row, marks, queue, patience):
    """Wait until a row is marked, unless it is negative; mark the queue as late after a long wait.

    Parameters
    ----------
    marks : int64 array of shape (n_rows,), 0 where a row is not marked yet.
    patience : number of spins after which the wait is long.
    """
    spins = 0
    while row >= 0 and load_counter(marks, row) == 0:
        if spins == patience:
            add_to_counter(queue, LATE, 1)
        if spins >= patience:
            yield_core()
        spins += 1


@inlined
def is_late(queue):
    """Return whether a thread has waited long: the one it waits for may have lost its core."""
    return load_counter(queue, LATE) > 0


@jit
def close_queue(queue):
    """Close the queue: no more tasks will be added, and helpers return."""
    add_to_counter(queue, CLOSED, 1)
