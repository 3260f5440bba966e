"""The k best of many classes with fewer multiply-adds than the product: most are screened out.

Rows and weights are rounded to bytes, ``x' = g q`` and ``w' = h p``. The product of bytes takes a
third of the time of the product of float32, and by Cauchy and Schwarz

    |x w - x' w'| <= |x - x'| |w'| + |x| |w - w'|.

A class whose score cannot reach the k-th best exact score found so far is excluded. One whose
rounded score is better is scored exactly at once, which raises that threshold; the others wait
until all classes have been visited, and are then compared with the last threshold. So the k best
classes and their scores are those of computing all scores in this way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from myriad._jit import inlined, jit, jit_reassociated
from myriad.arrays import Float, Ints
from myriad.byte_tiles import DEPTH, LANES, ROWS, find_limits, multiply_byte_tile
from myriad.parallel import open_threads

BLOCK = 768
"""Rows that are screened together: more rows share each read of the weights of a class."""
CLASSES = 128
"""Classes whose weights stay in the cache while waiting classes are scored."""
WAITING = 2048
"""Maximum number of classes of a row that wait for their exact scores."""
LARGEST = 1e15
"""Norms from which on float32 products might overflow: such rows and weights are not screened."""
MOST_SCORED = 0.03
"""The largest share of exact scores, of all, with which screening is faster than the product."""
EPSILON = float(np.finfo(np.float32).eps)
MOST_FEATURES = 130_000
"""Features up to which a sum of products of signed bytes fits into 32 bits."""


class RoundedWeights(NamedTuple):
    """Weights as bytes, and what bounds the error; classes are padded to a multiple of 16.

    Attributes
    ----------
    panels : int8 array p of shape (n_panels, m // 4, 16, 4); see `multiply_byte_tile`.
    sums : int32 array of shape (n,), the middle of the bytes of rows times the sum of the bytes of
        each class.
    factors : float32 array h of shape (n,)
    norms : float32 array of shape (n,), at least ``|w'|``.
    errors : float32 array of shape (n,), at least ``|w - w'|`` and what rounding of a float32 sum
        adds for ``|x| = 1``.
    biases : float32 array of shape (n,), at least the biases; -inf beyond the last class.
    depth : numbers that are multiplied before sums are widened. As an argument, not a constant of
        the kernel, it prevents the compiler from unrolling a loop that then needs more registers.
    """

    panels: Any
    sums: Any
    factors: Any
    norms: Any
    errors: Any
    biases: Any
    depth: int


class RoundedRows(NamedTuple):
    """Rows as bytes, and what bounds the error.

    Attributes
    ----------
    rows : uint8 array q of shape (n, m), with `middle_byte` added, as these bytes have no sign.
    scales : float32 array g of shape (n,)
    norms, errors : float32 arrays of shape (n,), at least ``|x|`` and ``|x - x'|``.
    """

    rows: Any
    scales: Any
    norms: Any
    errors: Any


class Found(NamedTuple):
    """The best classes of rows so far, and classes that are still to be scored exactly.

    Attributes
    ----------
    labels, best : arrays of shape (n, k), int32 and float32, the best first.
    waiting, uppers : arrays of shape (n, WAITING), int32 and float32: classes and their bounds.
    counts : int64 array of shape (n,), how many wait.
    scored : int64 array of shape (n,), how many classes were scored exactly.
    """

    labels: Any
    best: Any
    waiting: Any
    uppers: Any
    counts: Any
    scored: Any


def middle_byte() -> int:
    """Return what is added to the bytes of rows, so that they have no sign."""
    return (find_limits().row + 1) // 2


def round_weights(W: Float, biases: Float) -> RoundedWeights | None:
    """Return weights (n_classes, n_features) as bytes; None if they are too large to be bounded."""
    if W.shape[1] > MOST_FEATURES:
        return None
    n, m = -(-len(W) // LANES) * LANES, -(-W.shape[1] // DEPTH) * DEPTH
    panels = np.zeros((n // LANES, m // 4, LANES, 4), np.int8)
    norms = np.zeros((3, n))
    sums, factors = np.zeros(n, np.int32), np.ones(n, np.float32)
    fill_panels(np.ascontiguousarray(W), find_limits(), panels, sums, factors, norms)
    sums *= middle_byte()
    largest = np.abs(biases)
    if not (norms.max() < LARGEST and largest.max() < LARGEST):
        return None
    # Rounding of float32 sums: of the exact score, n_features + 1 times, of the rounded one, a few.
    rounding = (W.shape[1] + 16) * EPSILON
    raised = np.full(n, -np.inf, np.float32)
    raised[: len(W)] = biases + 16 * EPSILON * largest
    errors = norms[1] * (1 + 16 * EPSILON) + rounding * norms[0]
    kept = norms[2] * (1 + 16 * EPSILON)
    return RoundedWeights(
        panels, sums, factors, kept.astype(np.float32), errors.astype(np.float32), raised, DEPTH
    )


@jit
def fill_panels(W, limits, panels, sums, factors, norms):
    """Round weights to bytes; write the panels and, by class, sums, factors and three norms.

    The norms, in float64, are those of the weights, of the rounding errors and of the rounded
    weights. A factor is as small as the limits allow; each of the weights whose sum is limited may
    be rounded up by a half.
    """
    m = W.shape[1]
    shared = np.zeros(2, np.float64)
    for c in range(len(W)):
        factor = 1e-30
        for first in range(0, m, DEPTH):
            shared[:] = 0.0
            for d in range(first, min(m, first + DEPTH)):
                weight = abs(np.float64(W[c, d]))
                shared[d // 2 % 2] += weight
                factor = max(factor, weight / limits.weight)
            factor = max(factor, max(shared[0], shared[1]) / (limits.weight_sum - DEPTH // 4))
        factor = np.float64(np.float32(factor))
        for d in range(m):
            weight = np.float64(W[c, d])
            byte = np.int32(np.rint(weight / factor))
            panels[c // LANES, d // 4, c % LANES, d % 4] = byte
            sums[c] += byte
            kept = factor * byte
            norms[0, c] += weight * weight
            norms[1, c] += (weight - kept) ** 2
            norms[2, c] += kept * kept
        factors[c] = factor
    norms[:] = np.sqrt(norms)


def round_rows(X: Float) -> RoundedRows:
    """Return rows as bytes."""
    largest = np.abs(X).max(axis=1)
    middle = middle_byte()
    scales = np.maximum(largest / np.float32(middle - 1), np.float32(1e-30))
    rounded = np.rint(X / scales[:, None])
    padded = np.full((len(X), -(-X.shape[1] // DEPTH) * DEPTH), middle, np.uint8)
    padded[:, : X.shape[1]] = rounded + middle
    lost = X - rounded * scales[:, None].astype(np.float64)
    norms, errors = (
        (np.sqrt(np.einsum("nd,nd->n", A, A, dtype=np.float64)) * (1 + 16 * EPSILON)).astype(
            np.float32
        )
        for A in (X, lost)
    )
    return RoundedRows(padded, scales, norms, errors)


def rank_screened(
    X: Float, W: Float, biases: Float, rounded: RoundedWeights, labels: Ints, best: Float
) -> int:
    """Write the k best classes of rows and their scores, best first, lowest class on ties.

    Parameters
    ----------
    X : float32 array of shape (n_samples, n_features), C-contiguous, finite.
    W, biases : of the model; `rounded` are these weights.
    labels, best : arrays of shape (n_samples, k), int32 and float32; written.

    Returns
    -------
    How many rows were ranked, from the first on: all, unless the bounds exclude so little of a
    first block that the product of all scores is faster, or rows are too large.
    """
    blocks = [slice(start, start + BLOCK) for start in range(0, len(X), BLOCK)]
    if not np.abs(X).max(initial=0.0) < LARGEST / X.shape[1]:
        return 0

    def rank_block(block: slice) -> int:
        rows, n = round_rows(X[block]), len(X[block])
        found = Found(
            labels[block], best[block], np.empty((n, WAITING), np.int32),
            np.empty((n, WAITING), np.float32), np.zeros(n, np.int64), np.zeros(n, np.int64),
        )  # fmt: skip
        found.labels[:], found.best[:] = np.iinfo(np.int32).max, -np.inf
        screen(X[block], W, biases, rows, rounded, found)
        return int(found.scored.sum())

    if rank_block(blocks[0]) > MOST_SCORED * len(labels[blocks[0]]) * len(W):
        return len(labels[blocks[0]])
    with open_threads() as pool:
        pool.share(rank_block, blocks[1:])
    return len(X)


@jit
def screen(X, W, biases, rows, rounded, found):
    """Write the k best classes of a block of rows into `found`."""
    sums, uppers = np.empty((ROWS, LANES), np.int32), np.empty(LANES, np.float32)
    k, depth = found.best.shape[1], rounded.depth
    for panel in range(len(rounded.panels)):
        for first in range(0, len(X), ROWS):
            multiply_byte_tile(rows.rows, first, rounded.panels, panel, depth, sums)
            for i in range(first, min(first + ROWS, len(X))):
                n_reached = bound_scores(
                    sums[i - first], rows, i, rounded, panel * LANES, uppers, found.best[i, k - 1]
                )
                if n_reached > 0:
                    score_or_defer(X, W, biases, rows, i, rounded, panel * LANES, uppers, found)
    score_waiting(X, W, biases, found)


@inlined
def bound_scores(sums, rows, i, rounded, first, uppers, threshold):
    """Write the upper bounds of the scores of 16 classes; return how many reach the threshold."""
    scale, norm, error, n_reached = rows.scales[i], rows.norms[i], rows.errors[i], 0
    for lane in range(LANES):
        c = first + lane
        whole = np.float32(np.int32(sums[lane] - rounded.sums[c]))  # exact, if both overflow
        middle = scale * rounded.factors[c] * whole + rounded.biases[c]
        uppers[lane] = middle + (norm * rounded.errors[c] + error * rounded.norms[c])
        n_reached += uppers[lane] >= threshold
    return n_reached


@jit
def score_or_defer(X, W, biases, rows, i, rounded, first, uppers, found):
    """Score classes of row `i` whose bounds reach its threshold, or defer them.

    Those whose score certainly reaches it are scored at once. The others are appended to `waiting`,
    as a later threshold may exclude them.
    """
    k = found.best.shape[1]
    for lane in range(min(LANES, len(W) - first)):
        c = first + lane
        if not uppers[lane] >= found.best[i, k - 1]:
            continue
        error = rows.norms[i] * rounded.errors[c] + rows.errors[i] * rounded.norms[c]
        if uppers[lane] - error > found.best[i, k - 1]:
            insert(found, i, c, add_products(X[i], W[c]) + biases[c])
            continue
        if found.counts[i] == WAITING:
            score_waiting(X, W, biases, found)  # of all rows, whose lists are nearly full too
        found.waiting[i, found.counts[i]] = c
        found.uppers[i, found.counts[i]] = uppers[lane]
        found.counts[i] += 1


@jit
def score_waiting(X, W, biases, found):
    """Score the waiting classes of rows that can still be among the best; clear the lists.

    The list of a row is in ascending order of classes. All rows are visited for a range of classes
    at a time, so that weights are read from memory once.
    """
    k = found.best.shape[1]
    done = np.zeros(len(X), np.int64)
    for end in range(CLASSES, len(W) + CLASSES, CLASSES):
        for i in range(len(X)):
            while done[i] < found.counts[i] and found.waiting[i, done[i]] < end:
                if found.uppers[i, done[i]] >= found.best[i, k - 1]:
                    c = found.waiting[i, done[i]]
                    insert(found, i, c, add_products(X[i], W[c]) + biases[c])
                done[i] += 1
    found.counts[:] = 0


@jit
def insert(found, i, c, score):
    """Insert class `c` into the best of row `i`, in the order of scores, then of classes."""
    k = found.best.shape[1]
    found.scored[i] += 1
    position = k
    while position > 0:
        above, held = found.best[i, position - 1], found.labels[i, position - 1]
        if above > score or (above == score and held < c):
            break
        if position < k:
            found.best[i, position], found.labels[i, position] = above, held
        position -= 1
    if position < k:
        found.best[i, position], found.labels[i, position] = score, c


@jit_reassociated
def add_products(x, w):
    """Return the inner product of two float32 vectors."""
    total = np.float32(0.0)
    for d in range(len(x)):
        total += x[d] * w[d]
    return total
