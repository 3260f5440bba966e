"""Pseudo-rows of classes whose images are not available, drawn from the statistics of a model.

The mean of a class in the main directions of the rows is part of the novelty score. A pseudo-row is
such a mean plus the difference of a row at hand from the mean of its own class, as in FeTrIL
(G. Petit et al., WACV 2023): classes differ in their means far more than in how their rows vary.
"""

from __future__ import annotations

import numpy as np

from myriad.arrays import Float, Ints
from myriad.models.calibration.novelty import Novelty
from myriad.randomness import generator

FEWEST, MOST = 10, 100
"""Pseudo-rows of a class, at least and at most."""
MOST_BYTES = 512 << 20


def draw_pseudo_rows(novelty: Novelty, X: Float, labels: Ints, *, seed: int) -> tuple[Float, Ints]:
    """Return rows of the classes of a novelty score, and their labels.

    Parameters
    ----------
    X, labels : rows at hand, float32 of shape (n_rows, n_features), and their classes.
    """
    classes, members, counts = np.unique(labels, return_inverse=True, return_counts=True)
    known = np.flatnonzero(~np.isnan(novelty.points).any(axis=1))
    size = int(np.clip(np.median(counts), FEWEST, MOST))
    size = max(1, min(size, MOST_BYTES // (4 * X.shape[1] * max(1, len(known)))))
    means = np.zeros((len(classes), X.shape[1]))
    np.add.at(means, members, X)
    means /= counts[:, None]
    draws = generator(seed, "pseudo-rows")
    several = np.flatnonzero(counts[members] > 1)
    Y = np.repeat(novelty.points[known] @ novelty.directions + novelty.mean, size, axis=0)
    if len(several):
        chosen = several[draws.integers(len(several), size=len(Y))]
        own = members[chosen]
        # The mean of n rows is nearer to each of them than the mean of the class is.
        factor = np.sqrt(counts[own] / (counts[own] - 1.0))
        Y += (factor[:, None] * (X[chosen] - means[own])).astype(np.float32)
    return Y.astype(np.float32, copy=False), np.repeat(known, size).astype(np.int32)
