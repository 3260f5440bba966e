"""Steps of objectives that draw classes without looking at scores: ranking, auc, sampled softmax.

So the classes of every step are known in advance. Steps that share no class may be made in any
order, or in parallel: the result is that of sequential steps, bit for bit. Threads take tasks of a
few rows each, and a step waits only for the last step before it with each of its classes.

Ranking and auc draw a wrong class. Sampled softmax draws n without replacement and adds
``log((C - 1) / n)`` to their scores, so that the sum of their exponentials has the sum over all
wrong classes as its expectation; with n = C - 1 it is softmax.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit, jit_reassociated
from myriad.objectives.draws import (
    dot,
    draw_label,
    draw_position,
    draw_stride,
    next_position,
    wrong_class,
)
from myriad.objectives.joint import SOFTMAX
from myriad.objectives.softmax import probabilities
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

DRAWN_STEP = np.dtype(
    [
        ("exists", np.bool_),  # False where there is no step to make
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


class DrawnWork(NamedTuple):
    """The steps of a chunk and their progress; changed in place.

    Attributes
    ----------
    bounds : int64 array of shape (m + 1,), zeros; task k is to make the steps of rows ``bounds[k]``
        to ``bounds[k + 1] - 1``.
    steps : array of `DRAWN_STEP` of shape (m,).
    classes : int32 array of shape (m, 1 + n), the label and the n wrong classes of each step.
    after : int32 array shaped like `classes`, the last row before with a step for the class, or -1.
    marks : int64 array of shape (m,), 0 until a row is done; read and written atomically.
    """

    bounds: Any
    steps: Any
    classes: Any
    after: Any
    marks: Any


class RowSpace(NamedTuple):
    """Work space of a row, arrays of shape (1 + n,) for its classes.

    Attributes
    ----------
    products : float64, of the row with the stored weights.
    coefficients : float64, minus the derivatives of the loss with respect to the scores.
    biases : float64, with the correction for drawing.
    p, scratch : in the precision of the weights; see `probabilities`.
    """

    products: Any
    coefficients: Any
    biases: Any
    p: Any
    scratch: Any


@jit
def draw_steps(start, stop, labelled, setting, state, latest, work, Q):
    """Draw the classes of rows `start` to ``stop - 1``; return where the scale must be folded.

    Scale, step count and learning rate do not depend on the data: they are computed here too.

    Parameters
    ----------
    labelled, setting, state : see `step_pairs`.
    latest : int32 array of shape (n_classes,), the last row with a step for a class; changed.
    work : `DrawnWork`; the steps of these rows are set.
    Q : see `is_small`.
    """
    now, n_classes, n_drawn = state[0], len(latest), work.classes.shape[1] - 1
    for i in range(start, stop):
        step, target = work.steps[i], labelled.targets[i]
        step.exists = False
        if target.first == target.last:
            continue
        labels = labelled.classes[target.first : target.last]
        step.sigma_before, step.eta = now.sigma, decay_weights(setting[0], now)
        step.sigma, step.n_averaged, step.sigma_sum = now.sigma, now.n_averaged, now.sigma_sum
        n_wrong = n_classes - len(labels)
        if n_wrong > 0:
            step.exists = True
            key, classes = mix(now.key, target.key), work.classes[i]
            classes[0] = draw_label(key, labels)
            position = draw_position(key, 0, n_wrong)
            stride = draw_stride(key, n_wrong, n_drawn == 1)
            for k in range(n_drawn):
                if k > 0:
                    position = next_position(position, stride, key, k, n_wrong)
                classes[1 + k] = wrong_class(position, labels)
            # The steps that this one waits for; later steps of these classes wait for this one.
            for k in range(1 + n_drawn):
                work.after[i, k] = latest[classes[k]]
                latest[classes[k]] = i
        now.n_averaged += 1
        now.sigma_sum += now.sigma
        if is_small(now.sigma, Q):
            return i + 1
    return stop


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
def compare_pair(x, step, classes, V, biases, space):
    """Set products and coefficients of a label and a wrong class, for the loss ``1 - s_y + s_c``.

    Return whether the loss is above 0, and whether it is finite.
    """
    products = dot_both(V[classes[0]], V[classes[1]], x)
    truth = step.sigma_before * products[0] + biases[classes[0]]
    score = step.sigma_before * products[1] + biases[classes[1]]
    loss = 1.0 - truth + score
    space.products[0], space.products[1] = products[0], products[1]
    space.coefficients[0], space.coefficients[1] = 1.0, -1.0
    return loss > 0.0, np.isfinite(loss)


@inlined
def compare_sample(x, step, classes, V, biases, space):
    """Set products and coefficients of a label and the drawn classes, for sampled softmax.

    Return twice whether the probabilities are finite; all are NaN if a score is NaN or infinite.
    """
    correction = np.log((len(biases) - 1.0) / (len(classes) - 1.0))
    for k in range(len(classes)):
        space.products[k] = dot(V[classes[k]], x)
        space.biases[k] = biases[classes[k]] + (correction if k > 0 else 0.0)
    probabilities(space.products, space.biases, step.sigma_before, space.p, space.scratch)
    for k in range(len(classes)):
        space.coefficients[k] = (1.0 if k == 0 else 0.0) - space.p[k]
    finite = np.isfinite(space.p[0])
    return finite, finite


@inlined
def step_drawn(x, step, classes, target, weights, memory, setting, space):
    """Step the weights of the classes of a row.

    `step` is passed as the state of the training: `step_class` and `bound_norm` read sigma and
    n_averaged from it, as they are at this step.
    """
    V, Q = weights.V, weights.Q
    bounded = setting.max_norm < np.inf
    square = dot_both(x, x, x)[0] if setting.adagrad or bounded else 0.0
    exact = V.dtype.type  # in the precision of the weights, adding runs in vectors
    for k in range(len(classes)):
        c, coefficient = classes[k], target.weight * space.coefficients[k]
        target.squared_gradient += coefficient * coefficient
        a = step_class(c, coefficient, step.eta, square, memory, setting, step)
        add_row(exact(a), x, V[c])
        if Q.size > 0:
            add_row(exact(a * step.sigma_sum), x, Q[c])
        if bounded:
            product = space.products[k]
            V[c] *= bound_norm(c, a, product, square, memory.states, setting, step)


@jit
def run_drawn_task(task, rows, targets, work, weights, memory, setting, queue):
    """Make the steps of the rows of a task, each after the steps that it depends on.

    Parameters
    ----------
    task : its number.
    rows : `ScatteredRows`.
    targets : of the rows of the chunk; their squared gradients are changed in place.
    work : `DrawnWork`; marks are set.
    weights, memory : `StoredWeights` and `ClassMemory`; changed in place.
    """
    X, positions, V, biases = rows.X, rows.positions, weights.V, memory.biases
    steps, marks, size = work.steps, work.marks, work.classes.shape[1]
    patience = SPINS + SPINS_PER_FEATURE * V.shape[1] * size
    space = RowSpace(
        np.empty(size), np.empty(size), np.empty(size), np.empty(size, V.dtype),
        np.empty(size, V.dtype),
    )  # fmt: skip
    for i in range(work.bounds[task], work.bounds[task + 1]):
        x, step, classes, mark = X[positions[i]], steps[i], work.classes[i], STEPPED
        if step.exists:
            # No deadlock: tasks are taken in order, and the rows of a task done in order. After the
            # wait, this thread alone uses these classes until the row is marked.
            for k in range(size):
                wait_for_row(work.after[i, k], marks, queue, patience)
            if setting[0].objective == SOFTMAX:
                is_step, finite = compare_sample(x, step, classes, V, biases, space)
            else:
                is_step, finite = compare_pair(x, step, classes, V, biases, space)
            # Zero-copy rows were not checked for NaN: such a row is found here, marked as refused,
            # and makes no step.
            if not finite and not is_finite(x):
                mark = REFUSED
            elif is_step:
                step_drawn(x, step, classes, targets[i], weights, memory, setting[0], space)
        elif not is_finite(x):
            mark = REFUSED
        add_to_counter(marks, i, mark)


@jit
def run_drawn_worker(rows, targets, work, weights, memory, setting, queue):
    """Run tasks of `run_drawn_chunk` in a helper thread until its queue is closed, or late."""
    spins = 0
    while not is_closed(queue) and not is_late(queue):
        task = take_task(queue)
        if task >= 0:
            run_drawn_task(task, rows, targets, work, weights, memory, setting, queue)
            finish_task(queue)
            spins = 0
        else:
            spins = spin(spins)


@jit
def run_drawn_chunk(rows, labelled, work, weights, memory, setting, state, queue, size):
    """Step through a chunk, `size` rows a task; see `draw_steps` and `run_drawn_task`.

    Parameters
    ----------
    labelled : `RowLabels` of the chunk.
    queue : of `work_queue`, with no task added yet.
    """
    targets, Q = labelled.targets, weights.Q
    latest = np.full(len(memory.biases), -1, np.int32)
    n_tasks, stop = 0, 0
    while stop < len(targets):
        # Helpers start on tasks while more are added, until the chunk ends or the scale is small.
        can_continue = True
        while can_continue and stop < len(targets):
            end = min(len(targets), stop + size)
            stop = draw_steps(stop, end, labelled, setting, state, latest, work, Q)
            n_tasks += 1
            work.bounds[n_tasks] = stop
            add_tasks(queue, 1)
            can_continue = not is_small(state[0].sigma, Q)
        task = take_task(queue)
        while task >= 0:
            run_drawn_task(task, rows, targets, work, weights, memory, setting, queue)
            finish_task(queue)
            task = take_task(queue)
        wait_until_done(queue)
        if not can_continue:
            sigma, sigma_sum = fold_scale(memory.states, state)
            fold_weights(sigma, sigma_sum, weights.V, Q)
