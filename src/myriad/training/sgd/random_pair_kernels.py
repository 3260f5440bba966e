"""Steps of objectives that draw their two classes without looking at scores: ranking and auc.

So the classes that every step will touch are known beforehand. Steps that share no class may be
made in any order, or side by side: the result is that of one after the other, to the bit. Threads
take pieces of a few rows each, and a step waits only for the last one before it with its label and
the last with its wrong class.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit, jit_reassociated
from myriad.objectives.draws import draw_label, draw_wrong
from myriad.parallel.work_queue import (
    add_number,
    finish_piece,
    is_closed,
    is_late,
    open_pieces,
    rest,
    take_piece,
    wait,
    wait_for,
)
from myriad.randomness import mix
from myriad.training.engine.folding import fold_weights, is_small
from myriad.training.sgd.joint_kernels import add_row, decay, exceed, fold_scale, push

MADE, REFUSED = 1, 2
"""What a row is marked with: its step is made, or there is a number in it that is not finite."""

LOOKS, LOOKS_A_FEATURE = 300_000, 16
"""How often to look for a step that is under way: several times as long as the longest takes."""

DRAWN = np.dtype(
    [
        ("label", np.int64),  # -1 where there is no step to make
        ("wrong", np.int64),
        ("label_after", np.int64),  # the last row before it with a step for the label, or -1
        ("wrong_after", np.int64),  # and for the wrong class
        ("before", np.float64),  # the scale of the weights before the step
        ("sigma", np.float64),  # and after it
        ("eta", np.float64),  # the size of the step
        ("window", np.int64),  # the steps before it that averages are taken over
        ("scales", np.float64),  # and the sum of scales after these
    ]
)


@jit
def draw_piece(first, targets, classes, setting, state, latest, drawn, Q):
    """Draw the pairs of the next rows; return after how many the scale of the weights is too small.

    Parameters
    ----------
    first : the first row, counted from the beginning of the chunk.
    targets, classes, setting, state : see `step_pairs`; targets are those of the next rows.
    latest : int64 array of shape (n_classes,), the last row with a step for a class; changed.
    drawn : array of `DRAWN`, one for each of the next rows; changed.
    Q : see `is_small`.
    """
    now, n_classes = state[0], len(latest)
    for i in range(len(targets)):
        step, target = drawn[i], targets[i]
        step.label = -1
        if target.first == target.last:
            continue
        labels = classes[target.first : target.last]
        step.before, step.eta = now.sigma, decay(setting[0], now)
        step.sigma, step.window, step.scales = now.sigma, now.window, now.scales
        if len(labels) < n_classes:
            key = mix(now.key, target.key)
            step.label, step.wrong = draw_label(key, labels), draw_wrong(key, 0, n_classes, labels)
            step.label_after, step.wrong_after = latest[step.label], latest[step.wrong]
            latest[step.label] = latest[step.wrong] = first + i
        now.window += 1
        now.scales += now.sigma
        if is_small(now.sigma, Q):
            return i + 1
    return len(targets)


@inlined
def is_finite(x):
    """Tell whether all numbers of a row are finite."""
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
def push_both(x, step, products, weight, weights, memory, setting):
    """Push a row's label up and its wrong class down."""
    (V, Q), (biases, class_states) = weights, memory
    bounded = setting.max_norm < np.inf
    square = dot_both(x, x, x)[0] if setting.adagrad or bounded else 0.0
    exact = V.dtype.type  # in the precision of the weights, adding runs in vectors
    for c, product, slope in (
        (step.label, products[0], weight),
        (step.wrong, products[1], -weight),
    ):
        a = push(c, slope, step.eta, square, biases, class_states, setting, step)
        add_row(exact(a), x, V[c])
        if Q.size > 0:
            add_row(exact(a * step.scales), x, Q[c])
        if bounded:
            V[c] *= exceed(c, a, float(product), square, class_states, setting, step)


@jit
def step_piece(first, last, rows, targets, drawn, marks, weights, memory, setting, queue):
    """Make the steps of rows `first` to ``last - 1`` of a chunk, each when its turn has come.

    Parameters
    ----------
    rows : an array and the places of the chunk's rows in it.
    targets, drawn : what is known of the rows; their energy is changed.
    marks : int64 array, one for each row of the chunk, 0 before it is done; changed.
    weights : V and, where averages are kept, Q; changed.
    memory : biases and `CLASS_STATE` of each class; changed.
    """
    (X, places), V, biases = rows, weights[0], memory[0]
    patience = LOOKS + LOOKS_A_FEATURE * V.shape[1]
    for i in range(first, last):
        x, step, mark = X[places[i]], drawn[i], MADE
        if step.label >= 0:
            wait_for(step.label_after, marks, queue, patience)
            wait_for(step.wrong_after, marks, queue, patience)
            products = dot_both(V[step.label], V[step.wrong], x)
            truth = step.before * products[0] + biases[step.label]
            score = step.before * products[1] + biases[step.wrong]
            loss = 1.0 - truth + score
            if not np.isfinite(loss) and not is_finite(x):
                mark = REFUSED
            elif loss > 0.0:
                weight = targets[i].weight
                targets[i].energy += 2.0 * weight * weight
                push_both(x, step, products, weight, weights, memory, setting[0])
        elif not is_finite(x):
            mark = REFUSED
        add_number(marks, i, mark)


@jit
def help_drawn(bounds, rows, targets, drawn, marks, weights, memory, setting, queue):
    """Do pieces of `walk_drawn` until its board is closed, or somebody has waited for long."""
    looks = 0
    while not is_closed(queue) and not is_late(queue):
        piece = take_piece(queue)
        if piece >= 0:
            part = bounds[piece], bounds[piece + 1]
            step_piece(*part, rows, targets, drawn, marks, weights, memory, setting, queue)
            finish_piece(queue)
            looks = 0
        else:
            looks = rest(looks)


@jit
def walk_drawn(bounds, rows, known, made, weights, memory, setting, state, queue, size):
    """Step through a chunk, `size` rows a piece; see `draw_piece` and `step_piece`.

    Parameters
    ----------
    bounds : int64 array of as many as there are rows and one, the first 0; set to those of pieces.
    known : targets and classes.
    made : `DRAWN` and marks of the rows.
    board : of `boards`, with nothing taken yet.
    """
    (targets, classes), (drawn, marks) = known, made
    latest = np.full(len(memory[0]), -1)
    pieces, stop = 0, 0
    while stop < len(targets):
        sound = True
        while sound and stop < len(targets):
            here = slice(stop, min(len(targets), stop + size))
            own = targets[here], classes, setting, state, latest, drawn[here], weights[1]
            stop += draw_piece(stop, *own)
            pieces += 1
            bounds[pieces] = stop
            open_pieces(queue, 1)
            sound = not is_small(state[0].sigma, weights[1])
        piece = take_piece(queue)
        while piece >= 0:
            part = bounds[piece], bounds[piece + 1]
            step_piece(*part, rows, targets, drawn, marks, weights, memory, setting, queue)
            finish_piece(queue)
            piece = take_piece(queue)
        wait(queue)
        if not sound:
            sigma, scales = fold_scale(memory[1], state)
            fold_weights(sigma, scales, weights[0], weights[1])
