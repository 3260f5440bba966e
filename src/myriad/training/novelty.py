"""Learning of the novelty score: class means in the main directions of the training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.calibration.novelty import (
    BLOCK_ROWS,
    Novelty,
    count_directions,
    find_directions,
    measure_distances,
    project,
)
from myriad.randomness import generator
from myriad.store import Rows

MOST_ROWS = 20_000
"""Training rows that class means are found from."""
BASIS_ROWS, BASIS_BYTES = 256, 64 << 20
"""Rows that the main directions are found from, and most bytes of them."""
KNOWN_ROWS = 2000
"""Rows from which the distribution of novelty scores is estimated."""
READ_BYTES = 16 << 20


def learn_novelty(
    rows: Rows, n_classes: int, labels: Ints, best_scores: NDArray[np.float64], *, seed: int
) -> Novelty | None:
    """Return the novelty score learned from training rows; None if they are too few.

    The distribution for known classes is estimated on training rows, each left out of the mean of
    its class. Each one is paired with the best score of a held-out row of its class.

    Parameters
    ----------
    labels, best_scores : the classes of held-out rows, in random order, and their best scores,
        standardised by `Calibration.standardise`.
    """
    known = np.flatnonzero(rows.labels >= 0)
    chosen = generator(seed, "novelty rows").permutation(known)[:MOST_ROWS]
    size = min(BASIS_ROWS, max(1, BASIS_BYTES // (4 * rows.dim)), len(chosen))
    n_directions = count_directions(rows.dim, size)
    if n_directions == 0:
        return None
    basis = rows.read(np.sort(chosen[:size])).astype(np.float32, copy=False)
    mean, directions = find_directions(basis, n_directions)
    sample = rows.select(np.sort(chosen))
    Z, outside = np.empty((len(chosen), len(directions)), np.float32), np.empty(len(chosen))
    for block in sample.blocks(max(1, min(1024, READ_BYTES // (4 * rows.dim)))):
        X = block.X.astype(np.float32, copy=False)
        Z[block.index], outside[block.index] = project(X, mean, directions)
    counts = np.bincount(sample.labels, minlength=n_classes)
    points = np.full((n_classes, len(directions)), np.nan, np.float32)
    present = np.flatnonzero(counts)
    order = np.argsort(sample.labels, kind="stable")
    starts = np.searchsorted(sample.labels[order], present)
    sums = np.add.reduceat(Z[order].astype(np.float64), starts, axis=0)
    points[present] = sums / counts[present, None]
    own, held = pair_rows(sample.labels, labels)
    kept = counts[sample.labels[own]] > 1
    own, held = own[kept][:KNOWN_ROWS], held[kept][:KNOWN_ROWS]
    if len(own) == 0:
        return None
    distances = leave_out(Z[own], outside[own], sample.labels[own], points, counts)
    centre, spread = float(distances.mean()), float(distances.std()) or 1.0
    usual = np.sort((distances - centre) / spread - best_scores[held])
    return Novelty(mean, directions, points, centre, spread, usual.astype(np.float32))


def leave_out(
    Z: Float, outside: NDArray[np.float64], labels: Ints, points: Float, counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the distances of rows to the nearest class mean, each row left out of its own mean.

    Without a row, the mean of its n rows is farther from it by the factor ``n / (n - 1)``.
    """
    found = np.empty(len(Z))
    for start in range(0, len(Z), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        distances = measure_distances(Z[some], points)
        own = counts[labels[some]]
        distances[np.arange(len(own)), labels[some]] *= (own / (own - 1.0)) ** 2
        found[some] = distances.min(axis=1) + outside[some]
    return np.sqrt(found)


def pair_rows(first: Ints, second: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions in two lists of labels such that rows of the same class are paired."""
    keys, others = number_within(first), number_within(second)
    _, own, other = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    order = np.argsort(own % 7919, kind="stable")  # not class by class
    return own[order], other[order]


def number_within(labels: Ints) -> NDArray[np.int64]:
    """Return a key for each row, unique for its class and its position within the class."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    within = np.empty(len(labels), np.int64)
    within[order] = np.arange(len(labels)) - np.repeat(starts, counts)
    return labels.astype(np.int64) * 2**32 + within
