"""Which unlabelled rows to label next: those that would change the model most, and in many ways.

A label changes the weights by the gradient of the loss, whose size is not known before the label
is. With the best class taken as the label, the gradient of a row x with probabilities p is the
outer product of ``p - e_best`` and x. It is long where the model is unsure, and two of them are
alike where two rows are alike and unsure in the same way. Rows are drawn one after the other with
a probability proportional to the squared distance to the nearest one drawn before (k-means++), as
in BADGE (J. T. Ash et al., ICLR 2020). So they are unsure and unlike one another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.randomness import generator

CLASSES = 10
"""Best classes of a row whose probabilities count."""
MOST_ROWS = 20_000
"""Rows among which the choice is made: of more, those that the model is least sure of."""
NEAR = 0.05
"""Squared distance, as a fraction of the mean one, below which two rows are near-duplicates."""


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

    def select(self, rows: NDArray[np.int64]) -> Unlabelled:
        """Return some of the rows."""
        return Unlabelled(self.X[rows], self.classes[rows], self.probabilities[rows])

    @property
    def doubt(self) -> NDArray[np.float64]:
        """How unsure the model is of a row: 1 less the lead of the best class over the second."""
        if self.probabilities.shape[1] == 1:
            return 1.0 - self.probabilities[:, 0]
        return 1.0 - (self.probabilities[:, 0] - self.probabilities[:, 1])


def choose_rows(rows: Unlabelled, n: int, *, seed: int) -> list[int]:
    """Return the numbers of up to `n` rows to label, the most urgent first.

    Rows that are near-duplicates of one that was chosen are passed over.
    """
    doubt = rows.doubt
    kept = np.sort(np.argsort(-doubt, kind="stable")[:MOST_ROWS])
    some = rows.select(kept)
    X = _centre(some.X)
    steps = some.probabilities.copy()
    steps[:, 0] -= 1.0
    lengths = np.einsum("ij,ij->i", steps, steps)
    distances = lengths.copy()  # from nothing chosen: the squared length of the gradient
    draws = generator(seed, "rows to label next")
    chosen: list[int] = []
    while len(chosen) < min(n, len(kept)) and distances.max() > 0:
        if chosen:
            limits = np.cumsum(distances)
            pick = int(np.searchsorted(limits, draws.random() * limits[-1], side="right"))
        else:
            pick = int(np.argmax(distances))
        chosen.append(pick)
        likeness = X @ X[pick]
        products = _multiply(steps, some.classes, pick, rows.classes.max() + 1) * likeness
        gaps = np.maximum(lengths + lengths[pick] - 2.0 * products, 0.0)
        distances = np.minimum(distances, gaps)
        distances[2.0 - 2.0 * likeness < 2.0 * NEAR] = 0.0  # itself, and near-duplicates
    return kept[chosen].tolist()


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


def _centre(X: Float) -> Float:
    """Return rows less their mean, each of length 1; the mean squared distance is then 2."""
    away = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", away, away, dtype=np.float64))
    found: Float = (away / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
    return found


def _multiply(
    steps: NDArray[np.float64], classes: Ints, pick: int, n_classes: int
) -> NDArray[np.float64]:
    """Return the products of the rows of a sparse array with one of them."""
    own = np.zeros(n_classes)
    own[classes[pick]] = steps[pick]
    found: NDArray[np.float64] = (steps * own[classes]).sum(axis=1)
    return found
