"""Coefficients of a mini-batch: minus the derivatives of its rows' losses at the same weights.

The draws and the choices of classes are those of the steps row by row (`joint_kernels`,
`one_vs_rest_kernels`); only the weights are those before the batch for all of its rows.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import jit
from myriad.objectives.binary import binary_step
from myriad.objectives.joint import SOFTMAX, pick_pair
from myriad.objectives.softmax import hide_largest, probabilities
from myriad.randomness import mix
from myriad.training.sgd.class_columns import draw_next
from myriad.training.sgd.one_vs_rest_kernels import skip_before


@jit
def find_joint_coefficients(labelled, S, memory, harmonic, setting, key, A):
    """Write the coefficients of a joint objective.

    Parameters
    ----------
    labelled : `RowLabels` of the B rows.
    S : float array of shape (B, n_classes), products of rows and weights; may be changed.
    memory : `ClassMemory`; the last violators are changed in place, in the order of the rows.
    harmonic : see `objectives.warp`.
    setting : array of `JOINT_SETTING` of one entry.
    key : of this epoch's draws.
    A : float array of shape (B, n_classes); written.
    """
    scratch = np.empty(S.shape[1], S.dtype)
    for i in range(len(labelled.targets)):
        target = labelled.targets[i]
        A[i, :] = 0.0
        if target.first == target.last:
            continue
        labels = labelled.classes[target.first : target.last]
        if setting[0].objective == SOFTMAX:
            if setting[0].n_hidden > 0:
                hide_largest(S[i], memory.biases, 1.0, labels[0], setting[0].n_hidden)
            probabilities(S[i], memory.biases, 1.0, A[i], scratch)
            A[i, labels[0]] -= 1.0
            for c in range(A.shape[1]):
                A[i, c] *= -target.weight
            continue
        label, c, weight = pick_pair(
            setting[0], S[i], S, S[i], memory.biases, 1.0, labels, mix(key, target.key),
            memory.last_violators, harmonic,
        )  # fmt: skip
        if c >= 0:
            A[i, label] += weight * target.weight
            A[i, c] -= weight * target.weight


@jit
def find_binary_coefficients(targets, own_rows, columns, states, S, loss, start, A):
    """Write the coefficients of one-vs-rest: of the positives of each class, and of its draws.

    Parameters
    ----------
    targets : array of `TARGET` of shape (B,)
    own_rows : `ClassPositions`, the positives of each class.
    columns, states : arrays of `COLUMN` and `STATE`; the draws of `states` are changed in place.
    S : float array of shape (B, n_classes), products of rows and weights.
    loss : number of the binary loss.
    start : position of the batch in the epoch.
    A : float array of shape (B, n_classes); written.
    """
    B = len(targets)
    A[:, :] = 0.0
    for c in range(len(columns)):
        column, state = columns[c], states[c]
        last = own_rows.starts[column.label + 1]
        positive = skip_before(own_rows.positions, own_rows.starts[column.label], last, start)
        for i in range(B):
            drawn = state.next == start + i
            if drawn:
                draw_next(state, column.log_miss)
            own = positive < last and own_rows.positions[positive] == start + i
            positive += own
            if own or drawn:
                score = np.float64(S[i, c]) + state.bias
                step = binary_step(loss, 1.0 if own else -1.0, score)
                A[i, c] = targets[i].weight * step
