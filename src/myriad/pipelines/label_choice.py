"""Which unlabelled rows to label next: typical ones of what the model does not know yet.

The rows are clustered, together with those that have labels already. Clusters with the fewest
labelled rows come first, and among them those whose rows the model doubts most, in sum: so large
groups of unlike rows that it is unsure of. Of each cluster the row nearest to its centre is taken,
as in TypiClust (G. Hacohen, A. Dekel, D. Weinshall, ICML 2022). With few labels a class, the rows
that a model is least sure of are mostly odd ones, and teach it less than rows drawn at random; see
``recipes/next_labels.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models.novelty import find_directions
from myriad.randomness import generator
from myriad.vocabularies import learn_centres, nearest_centres

CLASSES = 2
"""Best classes of a row whose probabilities count."""
MOST_ROWS = 20_000
"""Unlabelled rows, and labelled ones, among which the choice is made; of more, some are drawn."""
NEAR = 0.05
"""Squared distance, as a fraction of the mean one, below which two rows are near-duplicates."""
LABELLED_SHARE = 2
"""One more cluster for so many labelled rows."""
MEAN_ROWS = 5
"""Labelled rows that the mean of a class stands for, where the rows themselves are not known."""
MOST_FEATURES, SAMPLE_ROWS = 128, 1_000
"""Rows of more features are clustered in so many main directions, those of a sample of rows."""
MOST_CLUSTERS = 2_000
ROUNDS = 8
"""Rounds of k-means."""


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Rows without labels, and what a model says of them.

    Attributes
    ----------
    X : float32 array of shape (n_rows, n_features).
    classes, probabilities : int32 and float64 arrays of shape (n_rows, k), the best classes.
    """

    X: Float
    classes: Ints
    probabilities: NDArray[np.float64]

    @property
    def doubt(self) -> NDArray[np.float64]:
        """How unsure the model is of a row: 1 less the lead of the best class over the second."""
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
    threads: int | None = 1,
) -> list[int]:
    """Return the numbers of up to `n` rows to label, the most urgent first.

    Rows that are near-duplicates of one that was chosen are passed over.

    Parameters
    ----------
    labelled : float32 array of shape (n_labelled, n_features), rows that have labels; None if they
        are not known.
    means : float32 array of shape (n_classes, n_features), the means of the labelled rows of each
        class, which stand for them if they are not known. Without both, the choice is worse than
        one at random.
    """
    n_rows = len(rows.X)
    known = np.zeros((0, rows.X.shape[1]), np.float32)
    if labelled is not None:
        known = labelled
    elif means is not None:
        known = np.repeat(means, MEAN_ROWS, axis=0)
    Z = _centre(_project(np.concatenate([rows.X, known]), seed))
    n_clusters = min(n + len(known) // LABELLED_SHARE, MOST_CLUSTERS, max(1, n_rows // 2))
    centres = learn_centres(Z, n_clusters, seed=seed, rounds=ROUNDS, threads=threads)
    cluster = nearest_centres(Z, centres)
    covered = np.bincount(cluster[n_rows:], minlength=n_clusters)
    doubts = np.bincount(cluster[:n_rows], weights=rows.doubt, minlength=n_clusters)
    Z, cluster = Z[:n_rows], cluster[:n_rows]
    away = Z - centres[cluster]
    distances = np.einsum("ij,ij->i", away, away, dtype=np.float64)
    members = np.lexsort((distances, cluster))
    starts = np.searchsorted(cluster[members], np.arange(n_clusters + 1))
    queues = [
        members[starts[c] : starts[c + 1]].tolist()[::-1]
        for c in np.lexsort((-doubts, covered))
        if starts[c] < starts[c + 1]
    ]
    return _take_turns(Z, queues, n)


def _take_turns(Z: Float, queues: list[list[int]], n: int) -> list[int]:
    """Return up to `n` rows: the last one of each queue in turn, without near-duplicates."""
    chosen: list[int] = []
    while len(chosen) < n and queues:
        for queue in queues:
            if len(chosen) == n:
                break
            row = queue.pop()
            if not chosen or float((Z[chosen] @ Z[row]).max()) < 1.0 - NEAR:
                chosen.append(row)
        queues = [queue for queue in queues if queue]
    return chosen


def spread_rows(X: Float, n: int) -> list[int]:
    """Return the numbers of up to `n` rows, each as far as possible from those before it.

    Near-duplicates are passed over. Rows are in the order of their urgency: the first one is
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
