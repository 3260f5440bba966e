"""Whole chunks by pairs of classes: steps are made one after the other, the rest is shared.

Between the steps of two blocks, the weights of every class take over the steps of the block before
and are multiplied with the rows of the next. That is done in pieces of some classes each, which any
thread may take from a board; the result of a piece does not depend on who makes it.
"""

from __future__ import annotations

from myriad._jit import inlined, jit
from myriad.panels import count_panels, multiply_turned
from myriad.parallel.work_queue import finish_piece, is_closed, open_pieces, rest, take_piece, wait
from myriad.training.engine.folding import fold_weights, is_small
from myriad.training.sgd.joint_kernels import add_pairs, fold_scale, step_pairs

PIECE = 48
"""Classes of a piece: whole tiles, whose weights stay in the nearer caches meanwhile."""


@inlined
def count_pieces(V):
    """Return how many pieces there are between two blocks."""
    return (len(V) + PIECE - 1) // PIECE


@inlined
def find_piece(piece, block, V):
    """Return the first row of the block that a piece is to score, its first class and its last."""
    n_pieces = count_pieces(V)
    first = piece % n_pieces * PIECE
    return piece // n_pieces * block, first, min(first + PIECE, len(V))


@inlined
def score_piece(rows, here, block, V, first, last, S):
    """Set the products of some classes with the rows of the block that begins at `here`."""
    X, panels, _ = rows
    if here < len(X):
        n_rows, size = min(block, len(X) - here), count_panels(block)
        begin = here // block * size
        own = panels[begin : begin + count_panels(n_rows)]
        multiply_turned(V[first:last], own, S[:n_rows], first)


@jit
def serve_pairs(rows, S, pairs, weights, class_states, block, piece):
    """Do one piece: take over the steps of the block before, score the next block.

    Parameters
    ----------
    rows : X, its panels and its Gram matrices; see `chunks.Chunk`.
    S, pairs : scores, changed, and steps; see `step_pairs`.
    weights, heads : V and Q, and `CLASS_STATE` of each class; changed.
    block : rows of a block.
    piece : its number; all pieces of a block come before those of the next.
    """
    V, Q = weights
    here, first, last = find_piece(piece, block, V)
    if here > 0:
        add_pairs(rows[0][here - block : here], pairs, class_states, V, Q, first, last)
    score_piece(rows, here, block, V, first, last, S)


@jit
def help_pairs(rows, S, pairs, weights, class_states, block, queue):
    """Do pieces of `walk_pairs` until its board is closed."""
    looks = 0
    while not is_closed(queue):
        piece = take_piece(queue)
        if piece >= 0:
            serve_pairs(rows, S, pairs, weights, class_states, block, piece)
            finish_piece(queue)
            looks = 0
        else:
            looks = rest(looks)


@jit
def walk_pairs(rows, known, harmonic, setting, made, weights, memory, state, queue, block):
    """Step through a chunk by pairs of classes; see `step_pairs` and `serve_pairs`.

    Parameters
    ----------
    known : targets and classes.
    made : S and pairs, places for what is made on the way.
    memory : biases, last violators and heads.
    board : of `boards`, with nothing taken yet.
    """
    X, _, grams = rows
    (targets, classes), (S, pairs) = known, made
    n_blocks = (len(X) + block - 1) // block
    for number in range(n_blocks + 1):
        open_pieces(queue, count_pieces(weights[0]))
        piece = take_piece(queue)
        while piece >= 0:
            serve_pairs(rows, S, pairs, weights, memory[2], block, piece)
            finish_piece(queue)
            piece = take_piece(queue)
        wait(queue)
        if number < n_blocks:
            part = slice(number * block, min(len(X), number * block + block))
            step_pairs(
                grams[part], targets[part], classes, harmonic, setting, S, pairs, memory, state
            )
            if is_small(state[0].sigma, weights[1]):
                sigma, scales = fold_scale(memory[2], state)
                fold_weights(sigma, scales, weights[0], weights[1])
                for pair in pairs:
                    pair.up, pair.down = pair.up * sigma, pair.down * sigma
                    pair.scales = (pair.scales - scales) / sigma
