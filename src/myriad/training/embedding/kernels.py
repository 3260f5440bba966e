"""Steps of an embedding through a block of rows: Wsabie and Wsabie++ [HM, Table 3].

A row x is mapped to ``z = V x`` and compared with a prototype ``P_c`` of each class. A step moves
the prototypes of the row's label y and of a violator c, and adds the row, times one number for each
row of the map, to the map: ``V += a x'``. So the embeddings of the rows after it follow from
products of rows, ``z_i = V x_i + sum_{k<i} G_ik a_k`` with V as it was at the beginning of the
block, and the map itself is read and changed once per block.

The gradients are those of [HM, Table 3] with corrected signs: for Euclidean discriminants
``dP_y = 2 (P_y - z)``, ``dP_c = -2 (P_c - z)``, ``dV = 2 (P_c - P_y) x'``; for linear ones
``dP_y = -z``, ``dP_c = z``, ``dV = (P_c - P_y) x'``. The field `scale` of the state is that 2 or 1.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.draws import dot, draw_label
from myriad.training.embedding.violators import (
    find_violator,
    harmonic,
    has_known_violator,
    mark_possible,
    score,
)

FIXED_STEP, BY_GRADIENTS, BY_COUNTS = 0, 1, 2

AXIS = np.dtype(
    [
        ("alpha", np.float64),  # sum of the squared gradients of a row of the map, or of its steps
        ("sigma", np.float64),  # the row of the map is sigma times the stored one
        ("square", np.float64),  # its squared norm, updated only where it is bounded
    ]
)
STATE = np.dtype(
    [
        ("scale", np.float64),  # 2 for Euclidean discriminants, 1 for linear ones
        ("margin", np.float64),
        ("eta", np.float64),
        ("adagrad", np.int64),
        ("rank_weight", np.bool_),
        ("replacement", np.bool_),
        (
            "max_norm",
            np.float64,
        ),  # bound on the norms of prototypes and rows of the map, 0 for none
        ("max_draws", np.int64),
        ("chain", np.int64),  # how many last violators are tried
        ("n_features", np.int64),
        ("draws", np.int64),  # made so far
        ("steps", np.int64),
        ("passed", np.int64),  # rows skipped because of a last violator
    ]
)


@inlined
def correct_embedding(gram, Z, axes, stepped, i, z):
    """Write the current embedding of row `i` to `z`; return its squared change within the block.

    `Z` holds the products of the stored map with the rows still to come and, for the rows
    `stepped`, the coefficients of their steps.
    """
    # z_i = sigma (Z_i + sum_{k<i} G_ik a_k): row k of Z became a_k when it made its step.
    for j in range(len(z)):
        z[j] = Z[i, j]
    for k in stepped:
        g = gram[i, k]
        for j in range(len(z)):
            z[j] += g * Z[k, j]
    moved = 0.0
    for j in range(len(z)):
        if axes[j].sigma != 1.0:
            z[j] *= axes[j].sigma
        moved += (z[j] - Z[i, j]) ** 2
    return moved


@inlined
def step_size(adagrad, eta, alpha):
    """Return the learning rate, by adagrad ``eta / sqrt(alpha)``; 0 where alpha is 0 [HM, 7]."""
    if adagrad == FIXED_STEP:
        return eta
    return eta / np.sqrt(alpha) if alpha > 0.0 else 0.0


@inlined
def move_prototype(P, squares, z, c, weight, memory, state):
    """Step the prototype of class `c` towards the embedding `z`, or away if the weight is negative.

    Changes `P`, `squares` and ``memory[c]`` in place.
    """
    dim = len(z)
    p = P[c]
    # Minus the gradient is rate * (z - own * P_c); own is 1 for Euclidean discriminants, else 0.
    rate = state.scale * weight
    own = state.scale - 1.0
    if state.adagrad == BY_GRADIENTS:
        total = 0.0
        for j in range(dim):
            total += (z[j] - own * p[j]) ** 2
        memory[c].alpha += rate * rate * total / dim
    elif state.adagrad == BY_COUNTS:
        memory[c].alpha += 1.0
    step = P.dtype.type(rate * step_size(state.adagrad, state.eta, memory[c].alpha))
    keep = P.dtype.type(1.0) - P.dtype.type(own) * step
    for j in range(dim):
        p[j] = keep * p[j] + step * z[j]
    square = np.float64(dot(p, p))
    if state.max_norm > 0.0 and square > state.max_norm**2:
        shrink = P.dtype.type(state.max_norm / np.sqrt(square))
        for j in range(dim):
            p[j] *= shrink
        square = np.float64(dot(p, p))
    squares[c] = square


@inlined
def move_map(P, z, label, c, weight, square, coefficients, axes, state):
    """Write the coefficients a of a step ``V += a x'`` of the stored map.

    Parameters
    ----------
    square : squared norm of x.
    coefficients : float array of shape (dim,); written.
    axes : array of `AXIS`, changed in place.
    """
    for j in range(len(z)):
        slope = state.scale * weight * (np.float64(P[c, j]) - np.float64(P[label, j]))
        if state.adagrad == BY_GRADIENTS:
            axes[j].alpha += slope * slope * square / state.n_features
        elif state.adagrad == BY_COUNTS:
            axes[j].alpha += 1.0
        step = -slope * step_size(state.adagrad, state.eta, axes[j].alpha)
        coefficients[j] = step / axes[j].sigma
        if state.max_norm > 0.0:
            # |v + a x|^2 = |v|^2 + 2 a v.x + a^2 |x|^2; a row too long is shrunk by its scale.
            axes[j].square += 2.0 * step * z[j] + step * step * square
            if axes[j].square > state.max_norm**2:
                axes[j].sigma *= state.max_norm / np.sqrt(axes[j].square)
                axes[j].square = state.max_norm**2


@inlined
def choose_violator(P, norms, products, z, labels, key, memory, marks, moved, state):
    """Return the label and the violator of a row's step, and the weight of the step.

    The violator is -1 if no step is made. Changes `memory` and the counts of `state` in place.
    """
    squares, scale = norms.squares, state.scale
    label = draw_label(key, labels)
    threshold = score(P, squares, z, label, scale) - state.margin
    if has_known_violator(P, squares, z, labels, label, threshold, memory, scale, state.chain):
        state.passed += 1
        return label, np.int64(-1), 0.0
    n_wrong = len(P) - len(labels)
    draws = state.max_draws if state.replacement else min(state.max_draws, n_wrong)
    c, possible = np.int64(-1), 1
    if len(products) > 0:
        # Products are those at the beginning of the block, and rounded: both errors are bounded.
        rounding = 4.0 * len(z) * np.finfo(P.dtype).eps
        reach = np.sqrt(moved) + rounding * np.sqrt(np.float64(dot(z, z)))
        possible = mark_possible(products, norms, labels, marks, scale, threshold, reach, rounding)
    if possible > 0:
        c, draws = find_violator(
            P, squares, z, labels, key, threshold, marks, scale, draws, state.replacement
        )
    state.draws += draws
    memory[label].last_violator = c  # -1 if none was found
    weight = 1.0
    if state.rank_weight and c >= 0:
        weight = harmonic(n_wrong // draws)
    return label, c, weight


@inlined
def confusion_weight(confusion, label, c):
    """Return the weight of a confusion of two classes, ``1 - M[label, c]``  [HM, Eq. 7]."""
    for entry in range(confusion.starts[label], confusion.starts[label + 1]):
        if confusion.classes[entry] == c:
            return 1.0 - confusion.fractions[entry]
    return 1.0


@jit
def step_block(gram, labelled, S, Z, P, norms, memory, confusion, axes, state):
    """Step through the rows of a block.

    Parameters
    ----------
    gram : float array of shape (B, B), products of the rows.
    labelled : `RowLabels`; the keys of its targets seed the draws, and their weights multiply the
        steps. A row without labels, or with all, makes no step.
    S : float array of shape (B, n_classes), products of rows and prototypes at the beginning of
        the block, changed in place; or (B, 0), then each class drawn is scored.
    Z : float array of shape (B, dim), products of rows and map; changed in place: each row that
        makes a step becomes the coefficients a of its change ``a x'`` of the map.
    P : float array of shape (n_classes, dim), the prototypes; changed in place.
    norms : `PrototypeNorms`; the squares are changed in place.
    memory, axes, state : `CLASS_MEMORY` of shape (n_classes,), `AXIS` of shape (dim,) and `STATE`
        of shape (1,); changed in place.
    confusion : `ClassConfusion`, by which steps are discounted.

    Returns
    -------
    int64 array, the rows that made a step.
    """
    stepped, n_stepped = np.empty(len(Z), np.int64), 0
    touched = np.empty(2 * len(Z), np.int64)
    z, marks = np.empty_like(Z[0]), np.empty(S.shape[1], np.uint8)
    for i in range(len(Z)):
        target = labelled.targets[i]
        labels = labelled.classes[target.first : target.last]
        if len(labels) == 0 or len(labels) == len(P):
            continue
        moved = correct_embedding(gram, Z, axes, stepped[:n_stepped], i, z)
        if S.shape[1] > 0:
            for c in touched[: 2 * n_stepped]:  # their prototypes have moved: always possible
                S[i, c] = np.inf
        label, c, weight = choose_violator(
            P, norms, S[i], z, labels, target.key, memory, marks, moved, state[0]
        )
        if c < 0:
            continue
        weight *= target.weight * confusion_weight(confusion, label, c)
        # All gradients are those before the step: the map's needs both prototypes unmoved.
        move_map(P, z, label, c, weight, gram[i, i], Z[i], axes, state[0])
        move_prototype(P, norms.squares, z, label, weight, memory, state[0])
        move_prototype(P, norms.squares, z, c, -weight, memory, state[0])
        stepped[n_stepped] = i
        touched[2 * n_stepped], touched[2 * n_stepped + 1] = label, c
        n_stepped += 1
        state[0].steps += 1
    return stepped[:n_stepped]
