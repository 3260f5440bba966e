"""Training one-vs-rest columns on a chunk, dense or sampled: with the same draws and steps.

Both make the steps of plain SGD, one row at a time: score the row, decay the weights by ``1 - eta
lam``, add the row times a coefficient [GP, Table 1]. The dense form takes the scores of a block
from one product and corrects them by the Gram matrix, as `joint_kernels` does; the sampled form
multiplies only the rows that a column draws. Columns are independent: each has its own scale sigma
and step count, so that threads need no synchronisation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.binary import HINGE, binary_step
from myriad.objectives.draws import dot
from myriad.panels import add_columns, count_panels, multiply, pack_columns
from myriad.parallel.work_queue import finish_task, take_task, wait_until_done
from myriad.training.engine.steps import StoredWeights, fold_weights, is_small, learning_rate
from myriad.training.optimiser import CONSTANT
from myriad.training.sgd.class_columns import draw_next

DENSE_UPDATE_ABOVE = 1 / 8
"""Above this share of coefficients that are not zero, a product beats adding rows (measured)."""
TILE = 32
"""Rows that are skipped together where none of them makes a step."""


class ChunkShards(NamedTuple):
    """How the columns of a chunk are cut into shards.

    Attributes
    ----------
    bounds : int64 array of shape (n_shards, 2), the first column of each shard and its end.
    start : position of the chunk in the epoch.
    block : rows of a block.
    """

    bounds: Any
    start: Any
    block: Any


@inlined
def step_column(loss, sign, product, square, column, state, target):
    """Make one step of a column; return the coefficient of the row for its stored weights.

    Parameters
    ----------
    product : of the row and the stored weights.
    square : squared norm of the row; used only where the column has options.
    column : record of `COLUMN`.
    state : record of `STATE`; its scale and bias are changed in place.
    target : record of `TARGET`; its squared gradient is changed in place.
    """
    score = state.sigma * product + state.bias
    coefficient = target.weight * binary_step(loss, sign, score)
    eta = learning_rate(column.schedule, column.eta, column.lam, state.t, column.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * column.lam
    if column.has_options:
        target.squared_gradient += coefficient * coefficient
        if column.adagrad:
            state.alpha += coefficient * coefficient * square * column.inverse_dim
            eta = eta / np.sqrt(state.alpha) if state.alpha > 0.0 else 0.0
    state.bias += eta * column.bias_rate * coefficient
    a = eta * coefficient / state.sigma
    if column.has_options:
        bound_norm(product, a, square, column, state)
        state.n_averaged += 1
        state.sigma_sum += state.sigma
        state.bias_sum += state.bias
    return a


@inlined
def bound_norm(product, a, square, column, state):
    """Keep the norm of a column's weights within its bound by changing their scale.

    ``|v + a x|^2 = |v|^2 + 2 a v.x + a^2 |x|^2``: no pass over the weights is needed.

    Parameters
    ----------
    product, a : of the row and the stored weights before the step, and the step's coefficient.
    square : squared norm of the row.
    """
    if column.max_norm < np.inf:
        state.squared_norm += a * (2.0 * product + a * square)
        norm = np.sqrt(max(0.0, state.squared_norm))
        if state.sigma * norm > column.max_norm:
            state.sigma = column.max_norm / norm


@inlined
def skip_before(positions, first, last, start):
    """Return the first of the entries `first` to `last` whose position is not before `start`."""
    while first < last and positions[first] < start:
        first += 1
    return first


@jit
def step_block(gram, own_rows, columns, S, A, Z, states, targets, start, loss):
    """Step all columns through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, at least B)
    own_rows : `ClassPositions`, the positives of each class.
    columns, states : arrays of `COLUMN` and `STATE`; `states` is changed in place.
    S : float array of shape (n_columns, B), products of stored weights and rows; changed in place:
        each step corrects the products of the rows after it.
    A, Z : float arrays of shape (n_columns, B); set to the coefficients of the rows, and to these
        times the sum of scales before them, from which averages follow; Z may be empty.
    targets : of the rows; their squared gradients are changed in place.
    start : position of the block in the epoch.

    Returns
    -------
    The number of coefficients that are not zero.
    """
    B = len(targets)
    nonzero = 0
    sigmas = np.empty(TILE + 1)
    A[:, :] = 0.0
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        skips = loss == HINGE and can_skip(column)
        # `own` is the next positive of the column in this block, B where there is none.
        last = own_rows.starts[column.label + 1]
        positive = skip_before(own_rows.positions, own_rows.starts[column.label], last, start)
        own = own_rows.positions[positive] - start if positive < last else B
        i = -1
        while i + 1 < B:
            i += 1
            if skips and i < own:
                i = skip_satisfied(S[c], sigmas, state, column, i, min(own, B))
            if i == B or (i != own and state.next != start + i):
                continue
            if state.next == start + i:
                draw_next(state, column.log_miss)
            sign = -1.0
            if i == own:
                sign = 1.0
                positive += 1
                own = own_rows.positions[positive] - start if positive < last else B
            sigma_sum = state.sigma_sum
            a = step_column(loss, sign, S[c, i], gram[i, i], column, state, targets[i])
            if a != 0.0:
                A[c, i] = a
                if Z.size > 0:
                    Z[c, i] = a * sigma_sum
                nonzero += 1
                # The Gram correction s_j = S_j + sum_{i<j} G_ij A_i, as soon as A_i is known.
                for j in range(i + 1, B):
                    S[c, j] += A[c, i] * gram[i, j]
    return nonzero


@inlined
def can_skip(column):
    """Return whether a column sees every row, and a satisfied hinge changes only the scale."""
    return column.log_miss == -np.inf and column.schedule == CONSTANT and not column.has_options


@inlined
def skip_satisfied(products, sigmas, state, column, first, stop):
    """Return the first row, from `first` to `stop`, whose hinge as a negative is not satisfied.

    The steps of the rows before it, which only decay the weights, are counted.

    Parameters
    ----------
    sigmas : float64 array of shape (TILE + 1,), work space.
    """
    keep = 1.0 - column.eta * column.lam
    above = 0
    while first < stop and above == 0:
        n = min(TILE, stop - first)
        bias = state.bias
        # The scale before each row of the tile is known ahead, so the scores of the whole tile are
        # compared with the margin in vector registers; only a tile with a violator is looked at
        # row by row.
        sigmas[0] = state.sigma
        for k in range(n):
            sigmas[k + 1] = sigmas[k] * keep
        for k in range(n):
            above += sigmas[k] * products[first + k] + bias > -1.0
        if above > 0:
            n = 0
            while not sigmas[n] * products[first + n] + bias > -1.0:
                n += 1
        state.sigma = sigmas[n]
        state.t += n
        state.n_drawn += n
        state.next += n
        first += n
    return first


@jit
def add_rows(A, X, V):
    """Add the rows of a block, times their coefficients, to the stored weights: ``V += A X``."""
    for c in range(A.shape[0]):
        for i in range(A.shape[1]):
            a = A[c, i]
            if a != 0.0:
                for j in range(X.shape[1]):
                    V[c, j] += a * X[i, j]


@inlined
def add_row(a, x, w):
    """Add a row, times a coefficient, to stored weights."""
    for j in range(len(x)):
        w[j] += a * x[j]


@jit
def fold_scales(V, Q, states):
    """Fold the scales that are small into the weights of their columns."""
    for c in range(len(states)):
        state = states[c]
        if is_small(state.sigma, Q):
            fold_weights(state.sigma, state.sigma_sum, V[c], Q[c] if Q.size > 0 else V[c, :0])
            state.squared_norm *= state.sigma**2
            state.sigma, state.sigma_sum = 1.0, 0.0


@jit
def step_dense(rows, own_rows, columns, loss, targets, weights, states, start, block):
    """Step all columns through a chunk, block by block.

    Parameters
    ----------
    rows : `BlockedRows`.
    own_rows, columns, loss, targets, states : see `step_block`.
    weights : `StoredWeights` of the columns; changed in place.
    start : position of the chunk in the epoch.
    """
    X, V, Q = rows.X, weights.V, weights.Q
    size = count_panels(block)
    for here in range(0, len(X), block):
        part = X[here : here + block]
        first = here // block * size
        S = np.empty((len(V), len(part)), V.dtype)
        multiply(V, rows.panels[first : first + count_panels(len(part))], S, 0)
        A = np.empty_like(S)
        Z = np.zeros_like(S) if Q.size > 0 else np.zeros((0, 0), V.dtype)
        n_steps = step_block(
            rows.grams[here : here + block], own_rows, columns, S, A, Z, states,
            targets[here : here + block], start + here, loss,
        )  # fmt: skip
        # V += A X, as a product where A is dense enough, else row by row.
        if n_steps > DENSE_UPDATE_ABOVE * A.size:
            own = pack_columns(part)
            add_columns(A, own, V)
            if Q.size > 0:
                add_columns(Z, own, Q)
        elif n_steps > 0:
            add_rows(A, part, V)
            add_rows(Z, part, Q)
        fold_scales(V, Q, states)


@jit
def step_dense_shards(rows, own_rows, columns, loss, targets, weights, states, shards, queue):
    """Train shards of columns on a chunk, taken from the queue until it is empty.

    Any number of threads may call this with the same arguments: a shard has one owner.

    Parameters
    ----------
    columns, weights, states : of all shards; see `step_dense`.
    shards : `ChunkShards`.
    queue : of `work_queue`, with a task for each shard.
    """
    V, Q = weights.V, weights.Q
    own = targets.copy()  # squared gradients are not needed here, and threads must not share them
    task = take_task(queue)
    while task >= 0:
        first, last = shards.bounds[task]
        step_dense(
            rows, own_rows, columns[first:last], loss, own,
            StoredWeights(V[first:last], Q[first:last]), states[first:last], shards.start,
            shards.block,
        )  # fmt: skip
        finish_task(queue)
        task = take_task(queue)


@jit
def wait_for_shards(queue):
    """Wait until all shards are done."""
    wait_until_done(queue)


@jit
def step_sampled(X, own_rows, columns, loss, targets, weights, states, start):
    """Step all columns through a chunk, touching only the rows that each column draws.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    own_rows, columns, loss, targets, weights, states, start : see `step_dense`.
    """
    m, V, Q = len(X), weights.V, weights.Q
    step = np.empty(2, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        positive, last = own_rows.starts[column.label], own_rows.starts[column.label + 1]
        while True:
            # The next row is the next positive or the next negative drawn, whichever comes first.
            own = own_rows.positions[positive] - start if positive < last else m
            i = min(state.next - start, own)
            if i >= m:
                break
            if state.next - start == i:
                draw_next(state, column.log_miss)
            sign = 1.0 if i == own else -1.0
            positive += i == own
            sigma_sum = state.sigma_sum
            square = dot(X[i], X[i]) if column.has_options else 0.0
            step[0] = step_column(loss, sign, dot(V[c], X[i]), square, column, state, targets[i])
            if step[0] != 0.0:
                add_row(step[0], X[i], V[c])
                if Q.size > 0:
                    step[1] = step[0] * sigma_sum
                    add_row(step[1], X[i], Q[c])
            if is_small(state.sigma, Q):
                fold_scales(V[c : c + 1], Q[c : c + 1], states[c : c + 1])
