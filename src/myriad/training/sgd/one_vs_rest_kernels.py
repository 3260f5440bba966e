"""The two ways through a chunk for a group of one-vs-rest columns: the same draws, the same steps.

Both make the steps of plain SGD, one row at a time: score the row, decay the weights by
``1 - eta lam``, add the row times a coefficient [GP, Table 1]. The dense way takes the scores of a
block from one product and corrects them by the Gram matrix; the sampled way multiplies only the
rows that a column draws.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives import binary_step
from myriad.objectives.binary import HINGE
from myriad.objectives.draws import dot
from myriad.panels import add_columns, count_panels, multiply, pack_columns
from myriad.parallel.work_queue import finish_piece, take_piece, wait
from myriad.training.engine.folding import fold_weights, is_small
from myriad.training.schedules import CONSTANT, step_size
from myriad.training.sgd.class_columns import advance

DENSE_UPDATE_ABOVE = 1 / 8
"""Above this share of coefficients that are not zero, a product beats adding rows (measured)."""
TILE = 32
"""Rows that are passed over together where none of them makes a step."""


@inlined
def take_step(loss, sign, product, square, column, state, target):
    """Make one step of a column; return what to add to its stored weights, as times the row.

    Parameters
    ----------
    product : of the row and the stored weights.
    square : squared norm of the row, where the column is conditioned.

    Changes the column's scale and bias, and the row's energy.
    """
    score = state.sigma * product + state.bias
    coefficient = target.weight * binary_step(loss, sign, score)
    eta = step_size(column.schedule, column.eta, column.lam, state.t, column.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * column.lam
    if column.conditioned:
        target.energy += coefficient * coefficient
        if column.adagrad:
            state.alpha += coefficient * coefficient * square * column.feature_share
            eta = eta / np.sqrt(state.alpha) if state.alpha > 0.0 else 0.0
    state.bias += eta * column.bias_rate * coefficient
    a = eta * coefficient / state.sigma
    if column.conditioned:
        bound_norm(product, a, square, column, state)
        state.window += 1
        state.scales += state.sigma
        state.bias_sum += state.bias
    return a


@inlined
def bound_norm(product, a, square, column, state):
    """Keep the norm of a column's weights within its bound, by their scale.

    Parameters
    ----------
    product, a : of the row and the stored weights before the step, and the step's coefficient.
    square : squared norm of the row.
    """
    if column.max_norm < np.inf:
        state.square += a * (2.0 * product + a * square)
        norm = np.sqrt(max(0.0, state.square))
        if state.sigma * norm > column.max_norm:
            state.sigma = column.max_norm / norm


@inlined
def skip_before(places, first, last, start):
    """Return the first entry of a class, between two bounds, that is not before a position."""
    while first < last and places[first] < start:
        first += 1
    return first


@jit
def step_block(gram, places, columns, S, A, Z, states, targets, start, loss):
    """Step all columns through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, at least B)
    places : positions in the epoch of the rows of each class, class by class, and their bounds.
    columns, states : see `columns`; `states` is changed.
    S : float array of shape (n_columns, B), products of stored weights and rows; changed: each
        step corrects the products of the rows after it.
    A, Z : float arrays of shape (n_columns, B); set to the coefficients of the rows, and to these
        times the scales summed before them, from which averages follow; Z may be empty.
    targets : of the rows; their energy is changed.
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
        quick = loss == HINGE and has_idle_steps(column)
        last = places[1][column.label + 1]
        positive = skip_before(places[0], places[1][column.label], last, start)
        own = places[0][positive] - start if positive < last else B
        i = -1
        while i + 1 < B:
            i += 1
            if quick and i < own:
                i = pass_over(S[c], sigmas, state, column, i, min(own, B))
            if i == B or (i != own and state.next != start + i):
                continue
            if state.next == start + i:
                advance(state, column.log_miss)
            sign = -1.0
            if i == own:
                sign = 1.0
                positive += 1
                own = places[0][positive] - start if positive < last else B
            scales = state.scales
            a = take_step(loss, sign, S[c, i], gram[i, i], column, state, targets[i])
            if a != 0.0:
                A[c, i] = a
                if Z.size > 0:
                    Z[c, i] = a * scales
                nonzero += 1
                for j in range(i + 1, B):
                    S[c, j] += A[c, i] * gram[i, j]
    return nonzero


@inlined
def has_idle_steps(column):
    """Tell whether a column meets every row, and a hinge that is satisfied leaves only a decay."""
    return column.log_miss == -np.inf and column.schedule == CONSTANT and not column.conditioned


@inlined
def pass_over(products, sigmas, state, column, first, stop):
    """Return the first row, from `first` to `stop`, whose hinge as a negative is not satisfied.

    The steps of the rows before it are counted. They are looked at in tiles, in vector registers;
    `sigmas`, work space, is a float64 array of shape (TILE + 1,).
    """
    keep = 1.0 - column.eta * column.lam
    above = 0
    while first < stop and above == 0:
        n = min(TILE, stop - first)
        bias = state.bias
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
        state.drawn += n
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
    """Fold the scales of columns that are small into their weights."""
    for c in range(len(states)):
        state = states[c]
        if is_small(state.sigma, Q):
            fold_weights(state.sigma, state.scales, V[c], Q[c] if Q.size > 0 else V[c, :0])
            state.square *= state.sigma**2
            state.sigma, state.scales = 1.0, 0.0


@jit
def walk_dense(rows, places, columns, loss, targets, weights, states, start, block):
    """Step all columns through a chunk, block by block.

    Parameters
    ----------
    rows : X, its panels and its Gram matrices; see `chunks.Products`.
    places, columns, loss, targets, states : see `step_block`.
    weights : V and Q, stored weights and what averages follow from, or empty; changed.
    start : position of the chunk in the epoch.
    """
    (X, panels, grams), (V, Q) = rows, weights
    size = count_panels(block)
    for here in range(0, len(X), block):
        part = X[here : here + block]
        first = here // block * size
        S = np.empty((len(V), len(part)), V.dtype)
        multiply(V, panels[first : first + count_panels(len(part))], S, True)
        A = np.empty_like(S)
        Z = np.zeros_like(S) if Q.size > 0 else np.zeros((0, 0), V.dtype)
        n_steps = step_block(
            grams[here : here + block], places, columns, S, A, Z, states,
            targets[here : here + block], start + here, loss,
        )  # fmt: skip
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
def walk_shards(rows, places, columns, loss, targets, weights, states, bounds, where, queue):
    """Step shards of columns through a chunk, those that the board gives, until none is left.

    Parameters
    ----------
    bounds : int64 array of shape (n_shards, 2), the first column of each shard and its end.
    where : position of the chunk in the epoch, and rows of a block.
    board : of `boards`, with a piece open for each shard.
    """
    V, Q = weights
    own = targets.copy()  # energies are nobody's here, and threads do not write to the same place
    piece = take_piece(queue)
    while piece >= 0:
        first, last = bounds[piece]
        walk_dense(
            rows, places, columns[first:last], loss, own, (V[first:last], Q[first:last]),
            states[first:last], where[0], where[1],
        )  # fmt: skip
        finish_piece(queue)
        piece = take_piece(queue)


@jit
def await_shards(queue):
    """Wait until all shards are done."""
    wait(queue)


@jit
def step_sampled(X, places, columns, V, Q, states, targets, start, loss):
    """Step all columns through a chunk, touching only the rows that each column draws.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    places : positions in the epoch of the rows of each class, class by class, and their bounds.
    V, states : stored weights (n_columns, n_features) and states of the columns; changed.
    Q : what averages follow from, shaped like V, or empty; changed.
    targets : of the rows; their energy is changed.
    start : position of the chunk in the epoch.
    """
    m = len(X)
    step = np.empty(2, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        positive, last = places[1][column.label], places[1][column.label + 1]
        while True:
            own = places[0][positive] - start if positive < last else m
            i = min(state.next - start, own)
            if i >= m:
                break
            if state.next - start == i:
                advance(state, column.log_miss)
            sign = 1.0 if i == own else -1.0
            positive += i == own
            scales = state.scales
            square = dot(X[i], X[i]) if column.conditioned else 0.0
            step[0] = take_step(loss, sign, dot(V[c], X[i]), square, column, state, targets[i])
            if step[0] != 0.0:
                add_row(step[0], X[i], V[c])
                if Q.size > 0:
                    step[1] = step[0] * scales
                    add_row(step[1], X[i], Q[c])
            if is_small(state.sigma, Q):
                fold_scales(V[c : c + 1], Q[c : c + 1], states[c : c + 1])
