"""Steps of objectives that draw their two classes without looking at scores: ranking and auc.

So the two classes of every step are known in advance. Steps that share no class may be made in any
order, or in parallel: the result is that of sequential steps, bit for bit. Threads take tasks of a
few rows each, and a step waits only for the last step before it with its label, and the last one
with its wrong class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit, jit_reassociated
from myriad.objectives.draws import draw_label, draw_wrong
from myriad.parallel.work_queue import (
    add_tasks,
    add_to_counter,
    finish_task,
    is_closed,
    is_late,
    spin,
    take_task,
    wait_for_row,
    wait_until_done,
)
from myriad.randomness import mix
from myriad.training.engine.steps import fold_weights, is_small
from myriad.training.sgd.joint_kernels import (
    add_row,
    bound_norm,
    decay_weights,
    fold_scale,
    step_class,
)

STEPPED, REFUSED = 1, 2
"""Marks of a row: its step is made, or it holds a NaN or an infinite value."""

SPINS, SPINS_PER_FEATURE = 300_000, 16
"""Spins to wait for a step, in all and per feature: several times what the longest takes."""

RANDOM_STEP = np.dtype(
    [
        ("label", np.int64),  # -1 where there is no step to make
        ("wrong", np.int64),
        ("label_after", np.int64),  # the last row before it with a step for the label, or -1
        ("wrong_after", np.int64),  # and for the wrong class
        ("sigma_before", np.float64),  # the scale of the weights before the step
        ("sigma", np.float64),  # and after it
        ("eta", np.float64),  # the learning rate
        ("n_averaged", np.int64),  # that of `STATE` before the step
        ("sigma_sum", np.float64),  # likewise
    ]
)


class ScatteredRows(NamedTuple):
    """Rows of a chunk that stay where they lie in a larger array.

    Attributes
    ----------
    X : float array of shape (n, n_features), read-only.
    positions : int64 array of shape (m,), the rows of X that belong to the chunk, in its order.
    """

    X: Any
    positions: Any


class RandomWork(NamedTuple):
    """The steps of a chunk and their progress; changed in place.

    Attributes
    ----------
    bounds : int64 array of shape (m + 1,), zeros; task k is to make the steps of rows ``bounds[k]``
        to ``bounds[k + 1] - 1``.
    steps : array of `RANDOM_STEP` of shape (m,).
    marks : int64 array of shape (m,), 0 until a row is done; read and written atomically.
    """

    bounds: Any
    steps: Any
    marks: Any


@jit
def draw_steps(first, targets, classes, setting, state, latest, steps, Q):
    """Draw the pairs of the next rows; return the number of rows until the scale must be folded.

    Scale, step count and learning rate do not depend on the data: they are computed here too.

    Parameters
    ----------
    first : the first row, counted from the beginning of the chunk.
    targets, classes, setting, state : see `step_pairs`; targets are those of the next rows.
    latest : int64 array of shape (n_classes,), the last row with a step for a class; changed.
    steps : array of `RANDOM_STEP`, one for each of the next rows; changed.
    Q : see `is_small`.
    """
    now, n_classes = state[0], len(latest)
    for i in range(len(targets)):
        step, target = steps[i], targets[i]
        step.label = -1
        if target.first == target.last:
            continue
        labels = classes[target.first : target.last]
        step.sigma_before, step.eta = now.sigma, decay_weights(setting[0], now)
        step.sigma, step.n_averaged, step.sigma_sum = now.sigma, now.n_averaged, now.sigma_sum
        if len(labels) < n_classes:
            key = mix(now.key, target.key)
            step.label, step.wrong = draw_label(key, labels), draw_wrong(key, 0, n_classes, labels)
            # The steps that this one waits for; later steps of these classes wait for this one.
            step.label_after, step.wrong_after = latest[step.label], latest[step.wrong]
            latest[step.label] = latest[step.wrong] = first + i
        now.n_averaged += 1
        now.sigma_sum += now.sigma
        if is_small(now.sigma, Q):
            return i + 1
    return len(targets)


@inlined
def is_finite(x):
    """Return whether all numbers of a row are finite."""
    found = True
    for j in range(len(x)):
        found = found and np.isfinite(x[j])
    return found


@jit_reassociated
def dot_both(v, w, x):
    """Return the products of a row with two vectors."""
    first, second = v[0] * x[0], w[0] * x[0]
    for j in range(1, len(x)):
        first += v[j] * x[j]
        second += w[j] * x[j]
    return first, second


@inlined
def step_both(x, step, products, weight, weights, memory, setting):
    """Step the weights of a row's label and of its wrong class.

    `step` is passed as the state of the training: `step_class` and `bound_norm` read sigma and
    n_averaged from it, as they are at this step.
    """
    V, Q = weights.V, weights.Q
    bounded = setting.max_norm < np.inf
    square = dot_both(x, x, x)[0] if setting.adagrad or bounded else 0.0
    exact = V.dtype.type  # in the precision of the weights, adding runs in vectors
    for c, product, coefficient in (
        (step.label, products[0], weight),
        (step.wrong, products[1], -weight),
    ):
        a = step_class(c, coefficient, step.eta, square, memory, setting, step)
        add_row(exact(a), x, V[c])
        if Q.size > 0:
            add_row(exact(a * step.sigma_sum), x, Q[c])
        if bounded:
            V[c] *= bound_norm(c, a, float(product), square, memory.states, setting, step)


@jit
def run_random_task(task, rows, targets, work, weights, memory, setting, queue):
    """Make the steps of the rows of a task, each after the steps that it depends on.

    Parameters
    ----------
    task : its number.
    rows : `ScatteredRows`.
    targets : of the rows of the chunk; their squared gradients are changed in place.
    work : `RandomWork`; marks are set.
    weights, memory : `StoredWeights` and `ClassMemory`; changed in place.
    """
    X, positions, V, biases = rows.X, rows.positions, weights.V, memory.biases
    steps, marks = work.steps, work.marks
    patience = SPINS + SPINS_PER_FEATURE * V.shape[1]
    for i in range(work.bounds[task], work.bounds[task + 1]):
        x, step, mark = X[positions[i]], steps[i], STEPPED
        if step.label >= 0:
            # No deadlock: tasks are taken in order, and the rows of a task done in order. After the
            # wait, this thread alone uses these two classes until the row is marked.
            wait_for_row(step.label_after, marks, queue, patience)
            wait_for_row(step.wrong_after, marks, queue, patience)
            products = dot_both(V[step.label], V[step.wrong], x)
            truth = step.sigma_before * products[0] + biases[step.label]
            score = step.sigma_before * products[1] + biases[step.wrong]
            loss = 1.0 - truth + score
            # Zero-copy rows were not checked for NaN: such a row is found here, marked as refused,
            # and makes no step.
            if not np.isfinite(loss) and not is_finite(x):
                mark = REFUSED
            elif loss > 0.0:
                weight = targets[i].weight
                targets[i].squared_gradient += 2.0 * weight * weight
                step_both(x, step, products, weight, weights, memory, setting[0])
        elif not is_finite(x):
            mark = REFUSED
        add_to_counter(marks, i, mark)


@jit
def run_random_worker(rows, targets, work, weights, memory, setting, queue):
    """Run tasks of `run_random_chunk` in a helper thread until its queue is closed, or late."""
    spins = 0
    while not is_closed(queue) and not is_late(queue):
        task = take_task(queue)
        if task >= 0:
            run_random_task(task, rows, targets, work, weights, memory, setting, queue)
            finish_task(queue)
            spins = 0
        else:
            spins = spin(spins)


@jit
def run_random_chunk(rows, labelled, work, weights, memory, setting, state, queue, size):
    """Step through a chunk, `size` rows a task; see `draw_steps` and `run_random_task`.

    Parameters
    ----------
    labelled : `RowLabels` of the chunk.
    queue : of `work_queue`, with no task added yet.
    """
    targets, Q = labelled.targets, weights.Q
    latest = np.full(len(memory.biases), -1)
    n_tasks, stop = 0, 0
    while stop < len(targets):
        # Helpers start on tasks while more are added, until the chunk ends or the scale is small.
        can_continue = True
        while can_continue and stop < len(targets):
            part = slice(stop, min(len(targets), stop + size))
            stop += draw_steps(
                stop, targets[part], labelled.classes, setting, state, latest, work.steps[part], Q
            )
            n_tasks += 1
            work.bounds[n_tasks] = stop
            add_tasks(queue, 1)
            can_continue = not is_small(state[0].sigma, Q)
        task = take_task(queue)
        while task >= 0:
            run_random_task(task, rows, targets, work, weights, memory, setting, queue)
            finish_task(queue)
            task = take_task(queue)
        wait_until_done(queue)
        if not can_continue:
            sigma, sigma_sum = fold_scale(memory.states, state)
            fold_weights(sigma, sigma_sum, weights.V, Q)
