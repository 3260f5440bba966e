"""Active learning: choose unlabelled rows that reduce the variance of predictions most.

If a linear model were fitted to the labelled rows by ridge regression, then ``x' S x`` would be the
variance of its prediction for a row x, with ``S = (lam I + sum of x x' over labelled rows)^-1``. It
does not depend on the labels, so the effect of a further row is known before it has one. Rows
are chosen greedily: each one minimises the sum of the variances of all unlabelled rows,
weighted by the uncertainty of the model. So they are neither similar to labelled rows nor outliers:
an outlier reduces only its own variance. This is the criterion of V-optimal design
(K. Yu, J. Bi, V. Tresp, ICML 2006, who call it transductive) with weights like those that the
Fisher information of a classifier has (J. Ash et al., Gone fishing, NeurIPS 2021). With few labels
per class, the most uncertain rows are mostly outliers, and help less than rows drawn
at random; see ``recipes/next_labels.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.calibration.novelty import find_directions
from myriad.randomness import generator

CLASSES = 2
"""Best classes of a row whose probabilities count."""
MOST_ROWS = 20_000
"""Unlabelled rows, and labelled ones, among which the choice is made; of more, some are drawn."""
NEAR = 0.05
"""Squared distance, as a fraction of the mean one, below which two rows are near-duplicates."""
RIDGE = 1.0
"""Ridge added to the sum of squares of labelled rows, which have length 1."""
MEAN_ROWS = 5
"""Weight of a class mean in rows, where the labelled rows themselves are not known."""
MOST_FEATURES, SAMPLE_ROWS = 128, 1_000
"""Number of principal components that longer rows are projected to."""


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Rows without labels, and the predictions of a model for them.

    Attributes
    ----------
    X : float32 array of shape (n_rows, n_features).
    classes, probabilities : int32 and float64 arrays of shape (n_rows, k), the best classes.
    """

    X: Float
    classes: Ints
    probabilities: NDArray[np.float64]

    @property
    def uncertainty(self) -> NDArray[np.float64]:
        """The uncertainty of the model: 1 minus the margin between the two best probabilities."""
        if self.probabilities.shape[1] == 1:
            return 1.0 - self.probabilities[:, 0]
        return 1.0 - (self.probabilities[:, 0] - self.probabilities[:, 1])


def choose_rows(
    rows: Unlabelled,
    n: int,
    *,
    labelled: Float | None = None,
    means: Float | None = None,
    seed: int,
) -> list[int]:
    """Return the indices of up to `n` rows to label, the most useful first.

    Near-duplicates of a chosen row are skipped.

    Parameters
    ----------
    labelled : float32 array of shape (n_labelled, n_features), rows that have labels; None if they
        are not known.
    means : float32 array of shape (n_classes, n_features), the means of the labelled rows of each
        class, which are used if the rows are not known.
    seed : draws the rows that main directions are found from.
    """
    n_rows = len(rows.X)
    known = np.zeros((0, rows.X.shape[1]), np.float32)
    if labelled is not None:
        known = labelled
    elif means is not None:
        known = np.repeat(means, MEAN_ROWS, axis=0)
    Z = _centre(_project(np.concatenate([rows.X, known]), seed)).astype(np.float64)
    return reduce_variance(Z[:n_rows], np.maximum(rows.uncertainty, 0.0), Z[n_rows:], n)


def reduce_variance(
    Z: NDArray[np.float64], weights: NDArray[np.float64], known: NDArray[np.float64], n: int
) -> list[int]:
    """Return up to `n` rows, each of which reduces the weighted sum of variances most.

    Parameters
    ----------
    Z : float64 array of shape (n_rows, d), unlabelled rows of length 1.
    weights : float64 array of shape (n_rows,), how much the variance of each row counts.
    known : float64 array of shape (n_labelled, d), rows that have labels.
    """
    S = np.linalg.inv(RIDGE * np.eye(Z.shape[1]) + known.T @ known)
    M = (Z * weights[:, None]).T @ Z
    # A row x that gets a label with the weight w changes S to S - c v v', where v = S x and
    # c = w / (1 + w x' v), and lowers the sum of variances, tr(S M), by c v' M v.
    of_rows = Z @ S
    variances = np.einsum("ij,ij->i", of_rows, Z)
    shares = np.einsum("ij,ij->i", of_rows @ M, of_rows)  # v' M v of each row
    free = np.ones(len(Z), bool)
    chosen: list[int] = []
    while len(chosen) < n and free.any():
        gains = weights * shares / (1.0 + weights * variances)
        i = int(np.argmax(np.where(free, gains, -1.0)))
        chosen.append(i)
        v = S @ Z[i]
        c = weights[i] / (1.0 + weights[i] * variances[i])
        along, across = Z @ v, Z @ (S @ (M @ v))
        shares += c * along * (c * (v @ M @ v) * along - 2.0 * across)
        variances -= c * along**2
        S -= c * np.outer(v, v)
        free &= Z @ Z[i] < 1.0 - NEAR  # which is false for the row itself
        free[i] = False
    return chosen


def spread_rows(X: Float, n: int) -> list[int]:
    """Return the indices of up to `n` rows, each as far as possible from those before it.

    Near-duplicates are skipped. Rows are in the order of their usefulness: the first one is
    taken, and of equals the earlier one.
    """
    if len(X) == 0:
        return []
    X = _centre(X[:MOST_ROWS])
    chosen, distances = [0], 2.0 - 2.0 * (X @ X[0])
    while len(chosen) < min(n, len(X)) and distances.max() > 2.0 * NEAR:
        pick = int(np.argmax(distances))
        chosen.append(pick)
        distances = np.minimum(distances, 2.0 - 2.0 * (X @ X[pick]))
    return chosen


def _project(X: Float, seed: int) -> Float:
    """Return rows in their main directions, if they have many features."""
    if X.shape[1] <= MOST_FEATURES:
        return X
    sample = generator(seed, "rows to find directions").permutation(len(X))[:SAMPLE_ROWS]
    mean, directions = find_directions(X[np.sort(sample)], MOST_FEATURES)
    return np.asarray((X - mean) @ directions.T, np.float32)


def _centre(X: Float) -> Float:
    """Return rows less their mean, each of length 1; the mean squared distance is then 2."""
    away = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", away, away, dtype=np.float64))
    found: Float = (away / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
    return found
