"""Chunks by the multinomial logistic loss: steps that change the weights of all classes [LS].

The weights lie in panels of 16 classes. So a piece of them can be multiplied with the next block of
rows where the rows lie, and takes over the steps of the block before, of packed rows, where the
weights lie: nothing but the rows is ever packed.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.softmax import probabilities
from myriad.panels import add_rows, count_panels, multiply, put_tile
from myriad.parallel.work_queue import finish_piece, is_closed, open_pieces, rest, take_piece, wait
from myriad.tiles import LANES, ROWS
from myriad.training.engine.folding import fold_weights, is_small
from myriad.training.sgd.joint_kernels import decay, fold_scale, push

PIECE = 3
"""Panels of a piece, whose weights stay in the nearer caches meanwhile."""
SUB_BLOCK = 2 * ROWS
"""Rows of a block that are corrected one by one; the rest is corrected by tiles."""
FOUR = 4
ONE = np.float32(1.0)


@inlined
def push_all(slopes, eta, square, coefficients, target, biases, class_states, setting, state):
    """Step the biases of all classes; set the coefficients of the row for their stored weights.

    Parameters
    ----------
    slopes : float array of shape (n_classes,), the loss's slope in the score of each class.
    """
    if setting.conditioned:
        for c in range(len(slopes)):
            gradient = -target.weight * slopes[c]
            target.energy += gradient * gradient
            coefficients[c] = push(c, gradient, eta, square, biases, class_states, setting, state)
        return
    step = -target.weight * eta
    stored, bias_step = slopes.dtype.type(step / state.sigma), step * setting.bias_rate
    for c in range(len(slopes)):
        coefficients[c] = stored * slopes[c]
    for c in range(len(slopes)):
        biases[c] += bias_step * slopes[c]


@jit
def step_softmax(gram, targets, classes, setting, S, steps, scales, memory, state):
    """Step through a block whose products with all classes are known.

    Parameters are those of `step_pairs`; row i of all panels of `steps`, of shape (n_panels, at
    least n, 16), is set to the coefficients of row i, and ``scales[i]`` to the sum of scales before
    its step. Products are corrected one row at a time within a sub-block, and by tiles from
    sub-block to sub-block.
    """
    n_classes = S.shape[1]
    p, work = np.empty(n_classes, S.dtype), np.empty(n_classes, S.dtype)
    A, edge = np.zeros((SUB_BLOCK, n_classes), S.dtype), np.empty((ROWS, LANES), S.dtype)
    factors = np.zeros(SUB_BLOCK, S.dtype)
    steps[:, :, :], scales[:] = 0.0, 0.0
    for i in range(len(targets)):
        target, now, inside = targets[i], state[0], i % SUB_BLOCK
        if inside == 0 and i > 0:
            put_panels(A, steps, i - SUB_BLOCK)
            A[:, :] = 0.0
            for row in range(i, min(i + SUB_BLOCK, len(targets)), ROWS):
                for panel in range(len(steps)):
                    put_tile(gram, row, 0, i, steps, panel, S, edge, False)
        if target.first == target.last:
            continue
        factors[:inside] = gram[i, i - inside : i]
        add_four(factors, A, inside, S[i])
        probabilities(S[i], memory[0], now.sigma, p, work)
        eta = decay(setting[0], now)
        p[classes[target.first]] -= ONE
        scales[i] = now.scales
        push_all(p, eta, gram[i, i], A[inside], target, memory[0], memory[2], setting[0], now)
        now.window += 1
        now.scales += now.sigma
    put_panels(A, steps, (len(targets) - 1) // SUB_BLOCK * SUB_BLOCK)


@inlined
def add_four(factors, A, n, out):
    """Add the first `n` rows of `A`, times factors, to `out`, four at a time; more are zero."""
    for j in range(0, n, FOUR):
        a, b, c, d = factors[j], factors[j + 1], factors[j + 2], factors[j + 3]
        first, second, third, fourth = A[j], A[j + 1], A[j + 2], A[j + 3]
        for k in range(len(out)):
            out[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])


@inlined
def put_panels(A, panels, first):
    """Write the rows of `A` into all panels, from row `first` on, as far as there is place."""
    n_classes = A.shape[1]
    whole, n = n_classes // LANES, min(len(A), panels.shape[1] - first)
    for panel in range(whole):
        for i in range(n):
            for lane in range(LANES):
                panels[panel, first + i, lane] = A[i, panel * LANES + lane]
    for i in range(n):
        for c in range(whole * LANES, n_classes):
            panels[whole, first + i, c - whole * LANES] = A[i, c]


@inlined
def count_pieces(V):
    """Return how many pieces there are between two blocks; the panel left over is one."""
    panels, left_over = V
    return (len(panels) + PIECE - 1) // PIECE + len(left_over)


@jit
def serve_softmax(rows, S, steps, scales, V, Q, block, piece):
    """Do one piece: take over the steps of the block before, score the next block.

    Parameters
    ----------
    rows : X, its panels and its Gram matrices; see `chunks.Chunk`.
    S, steps, scales : scores, changed, and steps; see `step_softmax`.
    V, Q : weights and, where they are kept, averages, as `pack_here` gives them; changed.
    block : rows of a block.
    piece : its number; all pieces of a block come before those of the next.
    """
    X, panels, _ = rows
    n_pieces, size = count_pieces(V), count_panels(block)
    here, first = piece // n_pieces * block, piece % n_pieces * PIECE
    own, averages = V[0][first : first + PIECE], Q[0][first : first + PIECE]
    if first >= len(V[0]):
        own, averages, first = V[1], Q[1], len(V[0])
    if here > 0:
        n_rows, begin = min(block, len(X) - here + block), (here // block - 1) * size
        packed = panels[begin : begin + count_panels(n_rows)]
        made = steps[first : first + len(own)]
        add_rows(packed, made, own)
        if averages.size > 0:
            weighed = np.empty_like(made)
            for i in range(made.shape[1]):
                weighed[:, i] = made[:, i] * scales[i]
            add_rows(packed, weighed, averages)
    if here < len(X):
        n_rows = min(block, len(X) - here)
        last = min(S.shape[1], (first + len(own)) * LANES)
        multiply(X[here : here + n_rows], own, S[:n_rows, first * LANES : last], True)


@jit
def help_softmax(rows, S, steps, scales, V, Q, block, queue):
    """Do pieces of `walk_softmax` until its board is closed."""
    looks = 0
    while not is_closed(queue):
        piece = take_piece(queue)
        if piece >= 0:
            serve_softmax(rows, S, steps, scales, V, Q, block, piece)
            finish_piece(queue)
            looks = 0
        else:
            looks = rest(looks)


@jit
def walk_softmax(rows, known, setting, made, V, Q, memory, state, queue, block):
    """Step through a chunk; see `serve_softmax`.

    Parameters
    ----------
    known : targets and classes.
    made : S, steps and scales, places for what is made on the way.
    memory : biases, last violators and heads.
    board : of `boards`, with nothing taken yet.
    """
    X, _, grams = rows
    (targets, classes), (S, steps, scales) = known, made
    n_blocks = (len(X) + block - 1) // block
    for number in range(n_blocks + 1):
        open_pieces(queue, count_pieces(V))
        piece = take_piece(queue)
        while piece >= 0:
            serve_softmax(rows, S, steps, scales, V, Q, block, piece)
            finish_piece(queue)
            piece = take_piece(queue)
        wait(queue)
        if number < n_blocks:
            part = slice(number * block, min(len(X), number * block + block))
            step_softmax(
                grams[part], targets[part], classes, setting, S, steps, scales, memory, state
            )
            if is_small(state[0].sigma, Q[0]) or is_small(state[0].sigma, Q[1]):
                sigma, before = fold_scale(memory[2], state)
                for k in range(2):
                    fold_weights(sigma, before, V[k], Q[k])
                steps *= sigma
                scales[:] = (scales - before) / sigma
