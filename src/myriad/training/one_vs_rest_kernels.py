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
from myriad.objectives.draws import dot
from myriad.training.columns import advance
from myriad.training.steps import step_size

FOLD_BELOW = 1e-6


@inlined
def take_step(loss, sign, product, column, state):
    """Make one step of a column; return what to add to its stored weights, as times the row.

    Changes the column's scale and bias.
    """
    score = state.sigma * product + state.bias
    coefficient = binary_step(loss, sign, score)
    eta = step_size(column.schedule, column.eta, column.lam, state.t, column.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * column.lam
    state.bias += eta * column.bias_rate * coefficient
    return eta * coefficient / state.sigma


@jit
def step_block(gram, labels, columns, S, A, states, start, loss):
    """Step all columns through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels : int32 array of shape (B,)
    columns, states : see `columns`; `states` is changed.
    S : float array of shape (n_columns, B), products of stored weights and rows; changed: each
        step corrects the products of the rows after it.
    A : float array of shape (n_columns, B); set to the coefficients of the rows.
    start : position of the block in the epoch.

    Returns
    -------
    The number of coefficients that are not zero.
    """
    B = len(labels)
    nonzero = 0
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        for i in range(B):
            A[c, i] = 0.0
            sign = -1.0
            if state.next == start + i:
                advance(state, column.log_miss)
            elif labels[i] != column.label:
                continue
            if labels[i] == column.label:
                sign = 1.0
            a = take_step(loss, sign, S[c, i], column, state)
            if a != 0.0:
                A[c, i] = a
                nonzero += 1
                for j in range(i + 1, B):
                    S[c, j] += A[c, i] * gram[i, j]
    return nonzero


@jit
def add_rows(A, X, V):
    """Add the rows of a block, times their coefficients, to the stored weights: ``V += A X``."""
    for c in range(A.shape[0]):
        for i in range(A.shape[1]):
            a = A[c, i]
            if a != 0.0:
                for j in range(X.shape[1]):
                    V[c, j] += a * X[i, j]


@jit
def fold_scales(V, states):
    """Multiply small scales into the stored weights, before float32 suffers."""
    for c in range(len(states)):
        if abs(states[c].sigma) < FOLD_BELOW:
            for j in range(V.shape[1]):
                V[c, j] *= states[c].sigma
            states[c].sigma = 1.0


@jit
def step_sampled(X, by_class, first, columns, V, states, start, loss):
    """Step all columns through a chunk, touching only the rows that each column draws.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    by_class : int64 array of shape (m,), the rows sorted by class, in order within a class.
    first : int64 array of shape (n_classes + 1,), where each class begins in `by_class`.
    V, states : stored weights (n_columns, n_features) and states of the columns; changed.
    start : position of the chunk in the epoch.
    """
    m = len(X)
    step = np.empty(1, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        positive, last = first[column.label], first[column.label + 1]
        while True:
            own = by_class[positive] if positive < last else m
            i = min(state.next - start, own)
            if i >= m:
                break
            if state.next - start == i:
                advance(state, column.log_miss)
            sign = -1.0
            if i == own:
                sign = 1.0
                positive += 1
            step[0] = take_step(loss, sign, dot(V[c], X[i]), column, state)
            a = step[0]
            if a != 0.0:
                for j in range(X.shape[1]):
                    V[c, j] += a * X[i, j]
            if abs(state.sigma) < FOLD_BELOW:
                fold_scales(V[c : c + 1], states[c : c + 1])
