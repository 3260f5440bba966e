"""Training on a chunk by pairs of classes: steps are sequential, products are shared by threads.

Between two blocks, the steps of the previous block are added to the weights, which are then
multiplied with the rows of the next block. This is divided into tasks of some classes each, which
any thread may take from a queue. A task owns its classes: no other thread writes their weights or
their columns of S meanwhile, so the result does not depend on the thread that runs it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from myriad._jit import inlined, jit
from myriad.panels import count_panels, multiply_transposed
from myriad.parallel.work_queue import (
    add_tasks,
    finish_task,
    is_closed,
    spin,
    take_task,
    wait_until_done,
)
from myriad.training.engine.steps import fold_weights, is_small
from myriad.training.sgd.joint_kernels import add_pairs, fold_scale, step_pairs

TASK = 48
"""Classes of a task: whole tiles, whose weights stay in the nearer caches meanwhile."""


class PairWork(NamedTuple):
    """Work space of a block; changed in place.

    Attributes
    ----------
    S : float array of shape (B, n_classes), products of the rows and the stored weights.
    pairs : array of `PAIR_STEP` of shape (B,), the steps of the previous block.
    """

    S: Any
    pairs: Any


@inlined
def count_tasks(V):
    """Return the number of tasks between two blocks."""
    return (len(V) + TASK - 1) // TASK


@jit
def run_pairs_task(rows, work, weights, memory, block, task):
    """Run one task: add the steps of the previous block to the weights, score the next block.

    Parameters
    ----------
    rows : `BlockedRows`.
    work : `PairWork`.
    weights, memory : `StoredWeights` and `ClassMemory`; changed in place for the task's classes.
    block : rows of a block.
    task : its number; all tasks of a block come before those of the next.
    """
    X, V = rows.X, weights.V
    n_tasks = count_tasks(V)
    start, first = task // n_tasks * block, task % n_tasks * TASK  # the next block, and the classes
    last = min(first + TASK, len(V))
    if start > 0:
        add_pairs(X[start - block : start], work.pairs, memory.states, weights, first, last)
    if start < len(X):
        n_rows, begin = min(block, len(X) - start), start // block * count_panels(block)
        own = rows.panels[begin : begin + count_panels(n_rows)]
        multiply_transposed(V[first:last], own, work.S[:n_rows], first)


@jit
def run_pairs_worker(rows, work, weights, memory, block, queue):
    """Run tasks of `run_pairs_chunk` in a helper thread until its queue is closed."""
    spins = 0
    while not is_closed(queue):
        task = take_task(queue)
        if task >= 0:
            run_pairs_task(rows, work, weights, memory, block, task)
            finish_task(queue)
            spins = 0
        else:
            spins = spin(spins)


@jit
def run_pairs_chunk(rows, labelled, harmonic, setting, work, weights, memory, state, queue, block):
    """Step through a chunk by pairs of classes; see `step_pairs` and `run_pairs_task`.

    Parameters
    ----------
    labelled : `RowLabels` of the chunk.
    queue : of `work_queue`, with no task added yet.
    """
    X, V, Q = rows.X, weights.V, weights.Q
    n_blocks = (len(X) + block - 1) // block
    # One round more than there are blocks: it adds the steps of the last block.
    for number in range(n_blocks + 1):
        add_tasks(queue, count_tasks(V))
        task = take_task(queue)
        while task >= 0:
            run_pairs_task(rows, work, weights, memory, block, task)
            finish_task(queue)
            task = take_task(queue)
        wait_until_done(queue)
        # From here to the next tasks this thread alone reads and writes.
        if number < n_blocks:
            part = slice(number * block, min(len(X), number * block + block))
            step_pairs(
                rows.grams[part], labelled.targets[part], labelled.classes, harmonic, setting,
                work.S, work.pairs, memory, state,
            )  # fmt: skip
            if is_small(state[0].sigma, Q):
                sigma, sigma_sum = fold_scale(memory.states, state)
                fold_weights(sigma, sigma_sum, V, Q)
                # The steps of this block are not in V yet: they are brought to the new scale.
                for pair in work.pairs:
                    pair.label_step *= sigma
                    pair.wrong_step *= sigma
                    pair.sigma_sum = (pair.sigma_sum - sigma_sum) / sigma
