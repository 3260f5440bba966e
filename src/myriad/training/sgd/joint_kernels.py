"""Steps of the joint objectives through a block or a chunk: multiclass, ranking, warp.

All, and softmax as well, make the steps of plain SGD, one row at a time [GP, Table 1]: score the
row, decay the weights by ``1 - eta lam``, then add the row, times a coefficient, to a few classes
(softmax: to all).
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives import pick_pair
from myriad.objectives.draws import dot
from myriad.objectives.warp import WARP
from myriad.randomness import mix
from myriad.training.engine.folding import fold_weights, is_small
from myriad.training.schedules import step_size

JOINT = np.dtype(
    [
        ("objective", np.int64),
        ("schedule", np.int64),
        ("eta", np.float64),
        ("lam", np.float64),
        ("t0", np.float64),
        ("bias_rate", np.float64),  # the step of the bias as a part of eta
        ("max_norm", np.float64),  # the most that the norm of a class's weights may be
        ("adagrad", np.bool_),  # whether a class's steps shrink by the root of squared gradients
        ("conditioned", np.bool_),  # whether any of `OptimiserOptions` is wanted
        ("feature_share", np.float64),  # one over the number of features
        ("warp", WARP),
    ]
)
STATE = np.dtype(
    [
        ("sigma", np.float64),  # the weights are sigma times the stored ones
        ("t", np.int64),  # steps made
        ("key", np.uint64),  # of this epoch's draws
        ("window", np.int64),  # steps that averages are taken over
        ("scales", np.float64),  # sum of the scales after these steps
    ]
)
CLASS_STATE = np.dtype(
    [
        ("square", np.float64),  # squared norm of a class's stored weights, where it is bounded
        ("alpha", np.float64),  # sum of mean squared gradient entries, where steps shrink by it
        ("late", np.float64),  # sum of the bias's steps, each times the window before it
        ("factor", np.float64),  # by what the stored weights are still to be multiplied
        ("row", np.int64),  # the row whose products know of that factor
    ]
)
PAIR = np.dtype(
    [
        ("label", np.int64),
        ("wrong", np.int64),  # -1 where no step is made
        ("up", np.float64),  # coefficient of the row for the label's stored weights
        ("down", np.float64),  # and for those of the wrong class
        ("scales", np.float64),  # sum of the scales before the step
    ]
)


@jit
def begin_epoch(states, seed, epoch):
    """Give every setting the draws of this (seed, epoch)."""
    for s in range(len(states)):
        states[s].key = mix(mix(seed, 0x70A1), epoch)


@inlined
def decay(setting, state):
    """Count a step and decay the weights; return the step's size."""
    eta = step_size(setting.schedule, setting.eta, setting.lam, state.t, setting.t0)
    state.t += 1
    state.sigma *= 1.0 - eta * setting.lam
    return eta


@inlined
def push(c, coefficient, eta, square, biases, class_states, setting, state):
    """Step the bias of a class; return the coefficient of the row for its stored weights.

    Parameters
    ----------
    coefficient : minus the slope of the loss in the score of the class.
    eta : the size of the step.
    square : squared norm of the row.
    """
    if setting.adagrad:
        class_states[c].alpha += coefficient * coefficient * square * setting.feature_share
        eta = eta / np.sqrt(class_states[c].alpha) if class_states[c].alpha > 0.0 else 0.0
    change = eta * setting.bias_rate * coefficient
    biases[c] += change
    class_states[c].late += change * state.window
    return eta * coefficient / state.sigma


@inlined
def exceed(c, a, product, square, class_states, setting, state):
    """Take a step into the norm of a class; return by what it is to shrink, 1 if not at all."""
    if setting.max_norm == np.inf:
        return 1.0
    class_states[c].square += a * (2.0 * product + a * square)
    norm = state.sigma * np.sqrt(max(0.0, class_states[c].square))
    if norm <= setting.max_norm:
        return 1.0
    shrink = setting.max_norm / norm
    class_states[c].square *= shrink * shrink
    return shrink


@inlined
def correct(products, gram, pairs, i, class_states, setting):
    """Bring the products of row `i` of a block up to date with the steps of the rows before it."""
    for j in range(i if setting.max_norm < np.inf else 0):
        if pairs[j].wrong >= 0:
            for c in (pairs[j].label, pairs[j].wrong):
                if class_states[c].factor != 1.0 and class_states[c].row != i:
                    products[c] *= class_states[c].factor
                    class_states[c].row = i
    for j in range(i):
        if pairs[j].wrong >= 0:
            products[pairs[j].label] += pairs[j].up * gram[j]
            products[pairs[j].wrong] += pairs[j].down * gram[j]


@inlined
def shrink_class(c, shrink, pairs, i, class_states):
    """Multiply the weights of a class by a factor, those still pending in a block included."""
    if shrink != 1.0:
        class_states[c].factor *= shrink
        class_states[c].row = i
        for j in range(i + 1):
            if pairs[j].wrong >= 0:
                pairs[j].up *= shrink if pairs[j].label == c else 1.0
                pairs[j].down *= shrink if pairs[j].wrong == c else 1.0


@jit
def step_pairs(gram, targets, classes, harmonic, setting, S, pairs, memory, state):
    """Step through a block whose products with all classes are known.

    Parameters
    ----------
    gram : float array of shape (n, B), n <= B
    targets, classes : what is known of the n rows, and the labels of their chunk; the rows' energy
        is changed.
    harmonic : see `objectives.warp`.
    S : float array of shape (B, n_classes), products of rows and stored weights; changed: they are
        corrected, when the row's turn comes, for the steps of the rows before it.
    pairs : array of `PAIR` of shape (B,), set to the step of each row.
    memory : biases, last violators and `CLASS_STATE` of each class; changed.
    setting, state : records of one entry; `state` is changed.
    """
    biases, last, class_states = memory
    for i in range(len(targets)):
        pairs[i].wrong = -1
        target, products, now = targets[i], S[i], state[0]
        if target.first == target.last:
            continue
        correct(products, gram[i], pairs, i, class_states, setting[0])
        labels = classes[target.first : target.last]
        key = mix(now.key, target.key)
        label, c, weight = pick_pair(
            setting[0], products, S, products, biases, now.sigma, labels, key, last, harmonic
        )
        eta = decay(setting[0], now)
        if c >= 0:
            weight *= target.weight
            target.energy += 2.0 * weight * weight
            pair, square = pairs[i], gram[i, i]
            pair.label, pair.wrong, pair.scales = label, c, now.scales
            pair.up = push(label, weight, eta, square, biases, class_states, setting[0], now)
            pair.down = push(c, -weight, eta, square, biases, class_states, setting[0], now)
            up = exceed(label, pair.up, products[label], square, class_states, setting[0], now)
            down = exceed(c, pair.down, products[c], square, class_states, setting[0], now)
            shrink_class(label, up, pairs, i, class_states)
            shrink_class(c, down, pairs, i, class_states)
        now.window += 1
        now.scales += now.sigma


@inlined
def add_row(a, x, w):
    """Add a row, times a coefficient, to stored weights."""
    for j in range(len(x)):
        w[j] += a * x[j]


@jit
def add_pairs(X, pairs, class_states, V, Q, first, last):
    """Add each row of a block to its label and take it from the wrong class of its step.

    Only the weights of classes `first` to ``last - 1`` are changed. Where averages are kept, `Q`,
    else empty, gets the same times the sum of scales before the step.
    """
    step = np.empty(2, V.dtype)  # in the precision of the weights, so that adding runs in vectors
    for i in range(len(X)):
        pair = pairs[i]
        if pair.wrong < 0:
            continue
        for c in (pair.label, pair.wrong):
            if first <= c < last and class_states[c].factor != 1.0:
                V[c] *= class_states[c].factor
                class_states[c].factor = 1.0
    for i in range(len(X)):
        pair = pairs[i]
        if pair.wrong < 0:
            continue
        for c, a in ((pair.label, pair.up), (pair.wrong, pair.down)):
            if first <= c < last:
                step[0], step[1] = a, a * pair.scales
                add_row(step[0], X[i], V[c])
                if Q.size > 0:
                    add_row(step[1], X[i], Q[c])


@jit
def step_sampled_pairs(
    X, targets, classes, weights, biases, last, class_states, harmonic, setting, state
):
    """Step through a chunk, making only the products that the objective looks at.

    Parameters are those of `step_pairs`; `weights` are the stored weights V and, where averages are
    kept, Q, changed at every step.
    """
    V, Q = weights
    unknown = np.empty(0, V.dtype)
    pairs = np.zeros(1, PAIR)
    for i in range(len(targets)):
        target, x, now, pair = targets[i], X[i], state[0], pairs[0]
        if target.first == target.last:
            continue
        labels = classes[target.first : target.last]
        key = mix(now.key, target.key)
        label, c, weight = pick_pair(
            setting[0], unknown, V, x, biases, now.sigma, labels, key, last, harmonic
        )
        eta = decay(setting[0], now)
        if c >= 0:
            weight *= target.weight
            target.energy += 2.0 * weight * weight
            bounded, products = setting[0].max_norm < np.inf, (0.0, 0.0)
            square = dot(x, x) if setting[0].adagrad or bounded else 0.0
            pair.label, pair.wrong, pair.scales = label, c, now.scales
            pair.up = push(label, weight, eta, square, biases, class_states, setting[0], now)
            pair.down = push(c, -weight, eta, square, biases, class_states, setting[0], now)
            if bounded:
                products = float(dot(V[label], x)), float(dot(V[c], x))
            add_pairs(X[i : i + 1], pairs, class_states, V, Q, 0, len(V))
            if bounded:
                V[label] *= exceed(
                    label, pair.up, products[0], square, class_states, setting[0], now
                )
                V[c] *= exceed(c, pair.down, products[1], square, class_states, setting[0], now)
        now.window += 1
        now.scales += now.sigma
        if is_small(now.sigma, Q):
            sigma, scales = fold_scale(class_states, state)
            fold_weights(sigma, scales, V, Q)


@jit
def fold_scale(class_states, state):
    """Return the scale of the weights and the sum of scales; both begin anew, for `fold_weights`.

    What is known of the stored weights is changed as if they were already.
    """
    sigma, scales = state[0].sigma, state[0].scales
    for c in range(len(class_states)):
        class_states[c].square *= sigma * sigma
    state[0].sigma, state[0].scales = 1.0, 0.0
    return sigma, scales
