"""Steps of the joint objectives through a block or a chunk: multiclass, ranking, warp.

All, and softmax as well, make the steps of plain SGD, one row at a time [GP, Table 1]: score the
row, decay the weights by ``1 - eta lam``, then add the row times a coefficient to the weights of a
few classes (softmax: of all).

A block of B rows is scored by one product ``S = X V^T`` before its first step. Before the step of
row i, its products are corrected for the steps of the rows before it in the block, ``s_i = S_i +
sum_{j<i} G_ij A_j`` with the Gram matrix ``G = X X^T`` and the coefficients A of those steps: this
is the score that SGD without blocks would have seen. The weights are ``sigma V`` (see
`engine.steps`), so A holds coefficients of V, already divided by sigma.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.draws import dot
from myriad.objectives.joint import pick_pair
from myriad.objectives.warp import WARP
from myriad.randomness import mix
from myriad.training.engine.steps import fold_weights, is_small, learning_rate

JOINT_SETTING = np.dtype(
    [
        ("objective", np.int64),
        ("schedule", np.int64),
        ("eta", np.float64),
        ("lam", np.float64),
        ("t0", np.float64),
        ("bias_rate", np.float64),  # the learning rate of the bias as a part of eta
        ("max_norm", np.float64),  # bound on the norm of a class's weights
        ("adagrad", np.bool_),  # whether a class's steps shrink by the root of squared gradients
        ("has_options", np.bool_),  # whether any of `OptimiserOptions` is set
        ("inverse_dim", np.float64),  # one over the number of features
        ("n_hidden", np.int64),  # of softmax: the largest wrong scores that are left out
        ("warp", WARP),
    ]
)
STATE = np.dtype(
    [
        ("sigma", np.float64),  # the weights are sigma times the stored ones
        ("t", np.int64),  # steps made
        ("key", np.uint64),  # of this epoch's draws
        ("n_averaged", np.int64),  # steps that averages are taken over
        ("sigma_sum", np.float64),  # sum of sigma after each of these steps
    ]
)
CLASS_STATE = np.dtype(
    [
        ("squared_norm", np.float64),  # of a class's stored weights, kept where it is bounded
        ("alpha", np.float64),  # sum of mean squared gradient entries, for adagrad [HM, 7]
        ("bias_lag", np.float64),  # sum of the bias's steps, each times n_averaged before it
        ("pending_factor", np.float64),  # by which the stored weights are still to be multiplied
        ("row", np.int64),  # the row of the block whose products include that factor already
    ]
)
PAIR_STEP = np.dtype(
    [
        ("label", np.int64),
        ("wrong", np.int64),  # -1 where no step is made
        ("label_step", np.float64),  # coefficient of the row for the label's stored weights
        ("wrong_step", np.float64),  # and for those of the wrong class
        ("sigma_sum", np.float64),  # that of `STATE` before the step, for averages
    ]
)


class ClassMemory(NamedTuple):
    """The state of each class beside its weights; changed in place.

    Attributes
    ----------
    biases : float64 array of shape (n_classes,), never decayed.
    last_violators : int64 array of shape (n_classes,), see `objectives.warp`.
    states : array of `CLASS_STATE` of shape (n_classes,).
    """

    biases: Any
    last_violators: Any
    states: Any


@jit
def begin_epoch(states, seed, epoch):
    """Set the key of every setting's draws in this epoch."""
    for s in range(len(states)):
        states[s].key = mix(mix(seed, 0x70A1), epoch)


@inlined
def decay_weights(setting, state):
    """Count a step and decay the weights through their scale; return the learning rate."""
    eta = learning_rate(setting.schedule, setting.eta, setting.lam, state.t, setting.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * setting.lam
    return eta


@inlined
def step_class(c, coefficient, eta, square, memory, setting, state):
    """Step the bias of a class; return the coefficient of the row for its stored weights.

    Parameters
    ----------
    coefficient : minus the derivative of the loss with respect to the score of the class.
    eta : the learning rate.
    square : squared norm of the row.
    """
    if setting.adagrad:
        memory.states[c].alpha += coefficient * coefficient * square * setting.inverse_dim
        alpha = memory.states[c].alpha
        eta = eta / np.sqrt(alpha) if alpha > 0.0 else 0.0
    change = eta * setting.bias_rate * coefficient
    memory.biases[c] += change
    # The sum of the biases after each averaged step is n_averaged * bias - bias_lag.
    memory.states[c].bias_lag += change * state.n_averaged
    return eta * coefficient / state.sigma


@inlined
def bound_norm(c, a, product, square, class_states, setting, state):
    """Follow the norm of a class through a step; return the factor that keeps it within its bound.

    ``|v + a x|^2 = |v|^2 + 2 a v.x + a^2 |x|^2``: no pass over the weights is needed.

    Parameters
    ----------
    a : coefficient of the row for the stored weights.
    product, square : of the row with the stored weights before the step, and with itself.
    """
    if setting.max_norm == np.inf:
        return 1.0
    class_states[c].squared_norm += a * (2.0 * product + a * square)
    norm = state.sigma * np.sqrt(max(0.0, class_states[c].squared_norm))
    if norm <= setting.max_norm:
        return 1.0
    shrink = setting.max_norm / norm
    class_states[c].squared_norm *= shrink * shrink
    return shrink


@inlined
def correct_products(products, gram, pairs, i, class_states, setting):
    """Correct the products of row `i` of a block for the steps of the rows before it."""
    # Where norms are bounded, a class may have shrunk since the block was scored. The factor goes
    # to the product first, once per row (recorded in `row`); coefficients have it already.
    for j in range(i if setting.max_norm < np.inf else 0):
        if pairs[j].wrong >= 0:
            for c in (pairs[j].label, pairs[j].wrong):
                if class_states[c].pending_factor != 1.0 and class_states[c].row != i:
                    products[c] *= class_states[c].pending_factor
                    class_states[c].row = i
    # s_i = S_i + sum_{j<i} G_ij A_j: row j of A has two entries, at its label and its wrong class.
    for j in range(i):
        if pairs[j].wrong >= 0:
            products[pairs[j].label] += pairs[j].label_step * gram[j]
            products[pairs[j].wrong] += pairs[j].wrong_step * gram[j]


@inlined
def shrink_class(c, shrink, pairs, i, class_states):
    """Multiply the weights of a class by a factor, the steps of the block so far included."""
    if shrink != 1.0:
        class_states[c].pending_factor *= shrink
        class_states[c].row = i
        for j in range(i + 1):
            if pairs[j].wrong >= 0:
                pairs[j].label_step *= shrink if pairs[j].label == c else 1.0
                pairs[j].wrong_step *= shrink if pairs[j].wrong == c else 1.0


@jit
def step_pairs(gram, targets, classes, harmonic, setting, S, pairs, memory, state):
    """Step through a block whose products with all classes are known.

    Parameters
    ----------
    gram : float array of shape (n, B), n <= B
    targets, classes : see `RowLabels`; targets are those of the n rows, and their squared gradients
        are changed in place.
    harmonic : see `objectives.warp`.
    setting : array of `JOINT_SETTING` of one entry.
    S : float array of shape (B, n_classes), products of rows and stored weights; changed in place:
        each row is corrected, before its step, for the steps of the rows before it.
    pairs : array of `PAIR_STEP` of shape (B,), set to the step of each row.
    memory : `ClassMemory`; changed in place.
    state : array of `STATE` of one entry; changed in place.
    """
    states = memory.states
    for i in range(len(targets)):
        pairs[i].wrong = -1
        target, products, now = targets[i], S[i], state[0]
        if target.first == target.last:
            continue
        correct_products(products, gram[i], pairs, i, states, setting[0])
        labels = classes[target.first : target.last]
        key = mix(now.key, target.key)
        label, c, weight = pick_pair(
            setting[0], products, S, products, memory.biases, now.sigma, labels, key,
            memory.last_violators, harmonic,
        )  # fmt: skip
        # The step is taken after the decay: its coefficients are divided by the new sigma.
        eta = decay_weights(setting[0], now)
        if c >= 0:
            weight *= target.weight
            target.squared_gradient += 2.0 * weight * weight
            pair, square = pairs[i], gram[i, i]
            pair.label, pair.wrong, pair.sigma_sum = label, c, now.sigma_sum
            pair.label_step = step_class(label, weight, eta, square, memory, setting[0], now)
            pair.wrong_step = step_class(c, -weight, eta, square, memory, setting[0], now)
            a, b = pair.label_step, pair.wrong_step
            shrink = bound_norm(label, a, products[label], square, states, setting[0], now)
            shrink_class(label, shrink, pairs, i, states)
            shrink = bound_norm(c, b, products[c], square, states, setting[0], now)
            shrink_class(c, shrink, pairs, i, states)
        now.n_averaged += 1
        now.sigma_sum += now.sigma


@inlined
def add_row(a, x, w):
    """Add a row, times a coefficient, to stored weights."""
    for j in range(len(x)):
        w[j] += a * x[j]


@jit
def add_pairs(X, pairs, class_states, weights, first, last):
    """Add each row of a block to the weights of its step's two classes, times its coefficients.

    Only classes `first` to ``last - 1`` are changed, so threads may own a range of classes each.
    Where averages are kept, Q gets the same times the sum of scales before the step.
    """
    V, Q = weights.V, weights.Q
    step = np.empty(2, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    # Pending factors come first: the coefficients of the block's steps include them already.
    for i in range(len(X)):
        pair = pairs[i]
        if pair.wrong < 0:
            continue
        for c in (pair.label, pair.wrong):
            if first <= c < last and class_states[c].pending_factor != 1.0:
                V[c] *= class_states[c].pending_factor
                class_states[c].pending_factor = 1.0
    for i in range(len(X)):
        pair = pairs[i]
        if pair.wrong < 0:
            continue
        for c, a in ((pair.label, pair.label_step), (pair.wrong, pair.wrong_step)):
            if first <= c < last:
                step[0], step[1] = a, a * pair.sigma_sum
                add_row(step[0], X[i], V[c])
                if Q.size > 0:
                    add_row(step[1], X[i], Q[c])


@jit
def step_sampled_pairs(X, labelled, weights, memory, harmonic, setting, state):
    """Step through a chunk, computing only the products that the objective looks at.

    The decisions and steps are those of `step_pairs`, whose parameters these are.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    labelled : `RowLabels` of the chunk.
    weights : `StoredWeights`, changed in place at every step.
    """
    V, Q, states = weights.V, weights.Q, memory.states
    no_products = np.empty(0, V.dtype)
    pairs = np.zeros(1, PAIR_STEP)
    for i in range(len(labelled.targets)):
        target, x, now, pair = labelled.targets[i], X[i], state[0], pairs[0]
        if target.first == target.last:
            continue
        labels = labelled.classes[target.first : target.last]
        key = mix(now.key, target.key)
        label, c, weight = pick_pair(
            setting[0], no_products, V, x, memory.biases, now.sigma, labels, key,
            memory.last_violators, harmonic,
        )  # fmt: skip
        eta = decay_weights(setting[0], now)
        if c >= 0:
            weight *= target.weight
            target.squared_gradient += 2.0 * weight * weight
            bounded, products = setting[0].max_norm < np.inf, (0.0, 0.0)
            square = dot(x, x) if setting[0].adagrad or bounded else 0.0
            pair.label, pair.wrong, pair.sigma_sum = label, c, now.sigma_sum
            pair.label_step = step_class(label, weight, eta, square, memory, setting[0], now)
            pair.wrong_step = step_class(c, -weight, eta, square, memory, setting[0], now)
            if bounded:
                products = float(dot(V[label], x)), float(dot(V[c], x))
            add_pairs(X[i : i + 1], pairs, states, weights, 0, len(V))
            if bounded:
                a, b = pair.label_step, pair.wrong_step
                V[label] *= bound_norm(label, a, products[0], square, states, setting[0], now)
                V[c] *= bound_norm(c, b, products[1], square, states, setting[0], now)
        now.n_averaged += 1
        now.sigma_sum += now.sigma
        if is_small(now.sigma, Q):
            sigma, sigma_sum = fold_scale(states, state)
            fold_weights(sigma, sigma_sum, V, Q)


@jit
def fold_scale(class_states, state):
    """Return the scale of the weights and the sum of scales, and reset both, for `fold_weights`.

    The squared norms of the stored weights become those of the folded ones.
    """
    sigma, sigma_sum = state[0].sigma, state[0].sigma_sum
    for c in range(len(class_states)):
        class_states[c].squared_norm *= sigma * sigma
    state[0].sigma, state[0].sigma_sum = 1.0, 0.0
    return sigma, sigma_sum
