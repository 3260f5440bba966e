"""Chunks by the multinomial logistic loss: steps that change the weights of all classes [LS].

During an epoch, weights are stored in panels of 16 classes, see `panels.pack_in_place`. So the
weights of a task can be multiplied with the next block of rows, and the steps of the previous
block, whose rows are packed already, can be added to them, without packing anything but the rows.

Within a block the steps are those of `joint_kernels`, ``s_i = S_i + sum_{j<i} G_ij A_j``. Here row
j of A is dense, so the sum is made on two levels: row by row within a sub-block, and by tiles, as a
product, from all sub-blocks before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import jit
from myriad.objectives.softmax import hide_largest, probabilities
from myriad.panels import add_rows, count_panels, multiply, put_tiles
from myriad.parallel.work_queue import (
    add_tasks,
    finish_task,
    is_closed,
    spin,
    take_task,
    wait_until_done,
)
from myriad.tiles import LANES, ROWS, set_zero
from myriad.training.engine.steps import fold_weights, is_small
from myriad.training.sgd.joint_kernels import decay_weights, fold_scale, step_class

TASK = 4
"""Panels of a task, whose weights stay in the nearer caches meanwhile."""
SUB_BLOCK = 2 * ROWS
"""Rows of a block that are corrected one by one; the rest is corrected by whole tiles."""
FOUR = 4
ONE = np.float32(1.0)


class SoftmaxWork(NamedTuple):
    """Work space of a block of B rows; changed in place.

    Attributes
    ----------
    S : float array of shape (B, n_classes), products of the rows and the stored weights.
    steps : float array of shape (n_panels, 16 ceil(B / 16), 16), the coefficients A of the rows in
        panels of 16 classes: ``steps[p, i, lane]`` is that of row i for class ``16 p + lane``.
    sigma_sums : float array of shape (16 ceil(B / 16),), the sum of scales before each row's step.
    """

    S: Any
    steps: Any
    sigma_sums: Any


@jit
def step_all(gradient, eta, square, coefficients, target, memory, setting, state):
    """Step the biases of all classes; set the coefficients of the row for their stored weights.

    Parameters
    ----------
    gradient : float array of shape (n_classes,), the derivatives of the loss with respect to the
        scores, ``p_c - (c == y)``.
    """
    if setting.has_options:
        for c in range(len(gradient)):
            coefficient = -target.weight * gradient[c]
            target.squared_gradient += coefficient * coefficient
            coefficients[c] = step_class(c, coefficient, eta, square, memory, setting, state)
        return
    # The same for plain SGD, in two loops that run in vector registers.
    step = -target.weight * eta
    stored, bias_step = gradient.dtype.type(step / state.sigma), step * setting.bias_rate
    for c in range(len(gradient)):
        coefficients[c] = stored * gradient[c]
    for c in range(len(gradient)):
        memory.biases[c] += bias_step * gradient[c]


@jit
def step_softmax(gram, targets, classes, setting, work, memory, state):
    """Step through a block whose products with all classes are known.

    Parameters are those of `step_pairs`.

    Parameters
    ----------
    work : `SoftmaxWork`; S is corrected in place, steps and sigma_sums are set.
    """
    S, steps, n_classes = work.S, work.steps, work.S.shape[1]
    p, scratch = np.empty(n_classes, S.dtype), np.empty(n_classes, S.dtype)
    A, factors = np.zeros((SUB_BLOCK, n_classes), S.dtype), np.zeros(SUB_BLOCK, S.dtype)
    set_zero(steps)
    set_zero(work.sigma_sums)
    for i in range(len(targets)):
        target, now, inside = targets[i], state[0], i % SUB_BLOCK
        if inside == 0 and i > 0:
            # A new sub-block: its rows are corrected for all steps before it, S += G A, by tiles.
            put_panels(A, steps, i - SUB_BLOCK)
            set_zero(A)
            rows = i, min(i + SUB_BLOCK, len(targets))
            put_tiles(gram, rows, 0, i, steps, (0, len(steps)), S, 0, False)
        if target.first == target.last:
            continue
        # Rows of A from `inside` on are zero, so the sum may run over a multiple of four rows.
        for j in range(inside):
            factors[j] = gram[i, i - inside + j]
        add_four(factors, A, inside, S[i])
        label = classes[target.first]
        if setting[0].n_hidden > 0:  # the products of a row are not used after its step
            hide_largest(S[i], memory.biases, now.sigma, label, setting[0].n_hidden)
        probabilities(S[i], memory.biases, now.sigma, p, scratch)
        eta = decay_weights(setting[0], now)
        p[label] -= ONE
        work.sigma_sums[i] = now.sigma_sum
        step_all(p, eta, gram[i, i], A[inside], target, memory, setting[0], now)
        now.n_averaged += 1
        now.sigma_sum += now.sigma
    put_panels(A, steps, (len(targets) - 1) // SUB_BLOCK * SUB_BLOCK)


@jit
def add_four(factors, A, n, out):
    """Add the first `n` rows of `A`, times factors, to `out`, four rows at a time."""
    for j in range(0, n, FOUR):
        a, b = factors[j], factors[j + 1]
        c, d = factors[j + 2], factors[j + 3]
        for k in range(len(out)):
            out[k] += (a * A[j, k] + b * A[j + 1, k]) + (c * A[j + 2, k] + d * A[j + 3, k])


@jit
def put_panels(A, panels, first):
    """Write the rows of `A` into all panels, from row `first` on, as far as these have rows."""
    n_classes = A.shape[1]
    whole, n = n_classes // LANES, min(len(A), panels.shape[1] - first)
    for panel in range(whole):
        for i in range(n):
            for lane in range(LANES):
                panels[panel, first + i, lane] = A[i, panel * LANES + lane]
    for i in range(n):
        for c in range(whole * LANES, n_classes):
            panels[whole, first + i, c - whole * LANES] = A[i, c]


@jit
def count_tasks(V):
    """Return the number of tasks between two blocks; the incomplete panel is one."""
    return (len(V.panels) + TASK - 1) // TASK + len(V.rest)


@jit
def run_softmax_task(rows, work, V, Q, block, task):
    """Run one task: add the steps of the previous block to the weights, score the next block.

    Parameters
    ----------
    rows : `BlockedRows`.
    work : `SoftmaxWork`; the columns of S of the task's classes are set.
    V, Q : `PackedWeights`, the weights and, where they are kept, averages; changed in place.
    block : rows of a block.
    task : its number; all tasks of a block come before those of the next.
    """
    X = rows.X
    n_tasks, size = count_tasks(V), count_panels(block)
    start, first = task // n_tasks * block, task % n_tasks * TASK
    own, averages = V.panels[first : first + TASK], Q.panels[first : first + TASK]
    if first >= len(V.panels):
        own, averages, first = V.rest, Q.rest, len(V.panels)
    if start > 0:
        # V += A^T X for the previous block: its rows and its coefficients are both packed.
        n_rows, begin = min(block, len(X) - start + block), (start // block - 1) * size
        packed = rows.panels[begin : begin + count_panels(n_rows)]
        steps = work.steps[first : first + len(own)]
        add_rows(packed, steps, own)
        if averages.size > 0:
            weighted = np.empty(steps.shape, steps.dtype)
            for panel in range(len(steps)):
                for i in range(steps.shape[1]):
                    for lane in range(LANES):
                        weighted[panel, i, lane] = steps[panel, i, lane] * work.sigma_sums[i]
            add_rows(packed, weighted, averages)
    if start < len(X):
        n_rows = min(block, len(X) - start)
        multiply(X[start : start + n_rows], own, work.S[:n_rows], first * LANES)


@jit
def rescale_steps(work, sigma, sigma_sum):
    """Convert the steps of a block to a new scale; see `fold_scale`."""
    steps, sigma_sums = work.steps, work.sigma_sums
    for panel in range(len(steps)):
        for i in range(steps.shape[1]):
            for lane in range(LANES):
                steps[panel, i, lane] *= sigma
    for i in range(len(sigma_sums)):
        sigma_sums[i] = (sigma_sums[i] - sigma_sum) / sigma


@jit
def run_softmax_worker(rows, work, V, Q, block, queue):
    """Run tasks of `run_softmax_chunk` in a helper thread until its queue is closed."""
    spins = 0
    while not is_closed(queue):
        task = take_task(queue)
        if task >= 0:
            run_softmax_task(rows, work, V, Q, block, task)
            finish_task(queue)
            spins = 0
        else:
            spins = spin(spins)


@jit
def run_softmax_chunk(rows, labelled, setting, work, V, Q, memory, state, queue, block):
    """Step through a chunk; see `step_softmax` and `run_softmax_task`.

    Parameters
    ----------
    labelled : `RowLabels` of the chunk.
    queue : of `work_queue`, with no task added yet.
    """
    X = rows.X
    n_blocks = (len(X) + block - 1) // block
    # One round more than there are blocks: it adds the steps of the last block.
    for number in range(n_blocks + 1):
        add_tasks(queue, count_tasks(V))
        task = take_task(queue)
        while task >= 0:
            run_softmax_task(rows, work, V, Q, block, task)
            finish_task(queue)
            task = take_task(queue)
        wait_until_done(queue)
        if number < n_blocks:
            part = slice(number * block, min(len(X), number * block + block))
            step_softmax(
                rows.grams[part], labelled.targets[part], labelled.classes, setting, work, memory,
                state,
            )  # fmt: skip
            if is_small(state[0].sigma, Q.panels) or is_small(state[0].sigma, Q.rest):
                sigma, sigma_sum = fold_scale(memory.states, state)
                fold_weights(sigma, sigma_sum, V.panels, Q.panels)
                fold_weights(sigma, sigma_sum, V.rest, Q.rest)
                # The steps of this block are not in V yet: they are brought to the new scale.
                rescale_steps(work, sigma, sigma_sum)
