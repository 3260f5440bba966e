"""Steps of the joint objectives through a block or a chunk: multiclass, ranking, warp, softmax.

All make the steps of plain SGD, one row at a time [GP, Table 1]: score the row, decay the weights
by ``1 - eta lam``, then add the row, times a coefficient, to a few classes (softmax: to all).
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives import pick_pair
from myriad.objectives.softmax import probabilities
from myriad.objectives.warp import WARP
from myriad.randomness import mix
from myriad.training.steps import step_size

FOLD_BELOW = 1e-6

JOINT = np.dtype(
    [
        ("objective", np.int64),
        ("schedule", np.int64),
        ("eta", np.float64),
        ("lam", np.float64),
        ("t0", np.float64),
        ("bias_rate", np.float64),  # the step of the bias as a part of eta
        ("warp", WARP),
    ]
)
STATE = np.dtype(
    [
        ("sigma", np.float64),  # the weights are sigma times the stored ones
        ("t", np.int64),  # steps made
        ("key", np.uint64),  # of this epoch's draws
    ]
)


@jit
def begin_epoch(states, seed, epoch):
    """Give every setting the draws of this (seed, epoch)."""
    for s in range(len(states)):
        states[s].key = mix(mix(seed, 0x70A1), epoch)


@inlined
def decay(setting, state):
    """Count a step and decay the weights; return the step's size over the new scale, and itself."""
    eta = step_size(setting.schedule, setting.eta, setting.lam, state.t, setting.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * setting.lam
    return eta / state.sigma, eta * setting.bias_rate


@jit
def step_pairs(gram, labels, index, S, biases, last, harmonic, setting, state):
    """Step through a block whose products with all classes are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels, index : int32 and int64 arrays of shape (B,), the rows' classes and numbers.
    S : float array of shape (B, n_classes), products of rows and stored weights; changed: they are
        corrected, when the row's turn comes, for the steps of the rows before it.
    biases, last : of shape (n_classes,); changed.
    setting, state : records of one entry; `state` is changed.

    Returns
    -------
    The wrong class of each row's step, -1 for none, and the coefficient of the row.
    """
    B = len(labels)
    classes = np.full(B, -1, np.int64)
    coefficients = np.zeros(B, S.dtype)
    for i in range(B):
        label = labels[i]
        products = S[i]
        for j in range(i):
            if classes[j] >= 0:
                change = coefficients[j] * gram[i, j]
                products[labels[j]] += change
                products[classes[j]] -= change
        key = mix(state[0].key, index[i])
        c, weight = pick_pair(
            setting[0], products, S, products, biases, state[0].sigma, label, key, last, harmonic
        )
        eta, bias_step = decay(setting[0], state[0])
        if c >= 0:
            classes[i] = c
            coefficients[i] = eta * weight
            biases[label] += bias_step * weight
            biases[c] -= bias_step * weight
    return classes, coefficients


@jit
def add_pairs(X, labels, classes, coefficients, V):
    """Add each row of a block to its label and take it from the wrong class of its step."""
    for i in range(len(labels)):
        if classes[i] >= 0:
            a = coefficients[i]
            label, c = labels[i], classes[i]
            for j in range(X.shape[1]):
                V[label, j] += a * X[i, j]
            for j in range(X.shape[1]):
                V[c, j] -= a * X[i, j]


@jit
def step_sampled_pairs(X, labels, index, V, biases, last, harmonic, setting, state):
    """Step through a chunk, making only the products that the objective looks at.

    Parameters are those of `step_pairs`, the stored weights `V` being changed at every step.
    """
    unknown = np.empty(0, V.dtype)
    step = np.empty(1, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    for i in range(len(labels)):
        label = labels[i]
        key = mix(state[0].key, index[i])
        c, weight = pick_pair(
            setting[0], unknown, V, X[i], biases, state[0].sigma, label, key, last, harmonic
        )
        eta, bias_step = decay(setting[0], state[0])
        if c >= 0:
            step[0] = eta * weight
            biases[label] += bias_step * weight
            biases[c] -= bias_step * weight
            a = step[0]
            for j in range(X.shape[1]):
                V[label, j] += a * X[i, j]
            for j in range(X.shape[1]):
                V[c, j] -= a * X[i, j]
        fold_scale(V, state)


@jit
def step_softmax(gram, labels, S, A, biases, setting, state, first, last):
    """Step through the rows `first` to `last` of a block by the multinomial logistic loss.

    Parameters are those of `step_pairs`; row i of `A`, float of shape (B, n_classes), is set to the
    coefficients of row i. Products are corrected for the rows up to `last`; the caller corrects
    those beyond by one product.
    """
    n_classes = S.shape[1]
    p, work = np.empty(n_classes, np.float64), np.empty(n_classes, np.float64)
    for i in range(first, last):
        probabilities(S[i], biases, state[0].sigma, p, work)
        eta, bias_step = decay(setting[0], state[0])
        p[labels[i]] -= 1.0
        for c in range(n_classes):
            A[i, c] = -eta * p[c]
        for c in range(n_classes):
            biases[c] -= bias_step * p[c]
        for j in range(i + 1, last):
            g = gram[i, j]
            for c in range(n_classes):
                S[j, c] += g * A[i, c]


@jit
def fold_scale(V, state):
    """Multiply a small scale into the stored weights, before float32 suffers."""
    if abs(state[0].sigma) < FOLD_BELOW:
        for c in range(V.shape[0]):
            for j in range(V.shape[1]):
                V[c, j] *= state[0].sigma
        state[0].sigma = 1.0
