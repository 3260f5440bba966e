"""Labels that are probably wrong, by confident learning on held-out probabilities.

A class has a threshold: the mean probability that its own rows give it [1]_. Classes of few rows
have a mean that says little, so it is drawn towards that of all classes. A row probably belongs to
another class if that class reaches its threshold and its own label does not. Rows are ranked by the
logarithm of how much more probable the other label is; a small number is added to both
probabilities, since differences between very small ones say nothing.

.. [1] C. Northcutt, L. Jiang, I. Chuang. Confident Learning: Estimating Uncertainty in Dataset
   Labels. Journal of Artificial Intelligence Research 70, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.checks.cross_fitting import HeldProbabilities

PRIOR_ROWS = 5.0
"""Rows that the mean of all classes counts for in the threshold of a class."""
FLOOR = 0.02
"""What is added to probabilities before their logarithm is taken. Of values from 0.003 to 0.2,
those up to 0.02 rank random errors best, and larger ones errors between similar classes: chosen on
training images of Scene 15 and Caltech-101 with 5 % of the labels changed."""
TWIN_SHARE = 0.5
"""Two classes are taken for one if the rows of each give the other at least so much of the
probability that they give their own."""
TWIN_PROBABILITY = 0.6
"""Probability that the two must have together, on average over their rows."""
TWIN_ROWS = 4
"""Rows that each of the two must have."""


@dataclass(frozen=True, eq=False)
class RankedLabels:
    """Rows ranked by how surely another label is right.

    Attributes
    ----------
    held : the probabilities.
    suggested : int32 array of shape (n,), the best class other than the row's label.
    alternative : float32 array of shape (n,), its probability.
    score : float64 array of shape (n,), higher where the label is more surely wrong.
    wrong : bool array of shape (n,), whether it probably is.
    """

    held: HeldProbabilities
    suggested: NDArray[np.int32]
    alternative: NDArray[np.float32]
    score: NDArray[np.float64]
    wrong: NDArray[np.bool_]

    def list_wrong(self) -> NDArray[np.int64]:
        """Return the positions of rows whose label is probably wrong, the surest first."""
        positions = np.flatnonzero(self.wrong)
        return positions[np.argsort(-self.score[positions], kind="stable")]


def find_thresholds(held: HeldProbabilities, n_classes: int) -> NDArray[np.float64]:
    """Return the threshold of each class, (n_classes,)."""
    sums = np.bincount(held.labels, weights=held.given, minlength=n_classes)
    counts = np.bincount(held.labels, minlength=n_classes)
    return (sums + PRIOR_ROWS * float(held.given.mean())) / (counts + PRIOR_ROWS)


def rank_labels(held: HeldProbabilities, n_classes: int) -> RankedLabels:
    """Rank rows by how surely another label than their own is right."""
    thresholds = find_thresholds(held, n_classes)
    others = np.where(held.classes == held.labels[:, None], -np.inf, held.probabilities)
    best = others.argmax(axis=1)
    rows = np.arange(len(held))
    suggested, alternative = held.classes[rows, best], others[rows, best]
    score = np.log(alternative.astype(np.float64) + FLOOR) - np.log(held.given + FLOOR)
    wrong = (alternative >= thresholds[suggested]) & (alternative > held.given)
    wrong &= held.given < thresholds[held.labels]
    return RankedLabels(held, suggested, alternative.astype(np.float32), score, wrong)


@dataclass(frozen=True)
class TwinClasses:
    """Two classes that held-out rows cannot tell apart.

    Attributes
    ----------
    first, second : the classes.
    share : how much of the probability of its own label a row gives the other one, the lower of
        the two means; 1 where the classes are indistinguishable.
    """

    first: int
    second: int
    share: float


def find_twins(held: HeldProbabilities, n_classes: int) -> list[TwinClasses]:
    """Return pairs of classes that are probably one thing under two names, the surest first."""
    counts = np.bincount(held.labels, minlength=n_classes)
    own = np.bincount(held.labels, weights=held.given, minlength=n_classes)
    k = held.classes.shape[1]
    keys = np.repeat(held.labels.astype(np.int64), k) * n_classes + held.classes.reshape(-1)
    cells, positions = np.unique(keys, return_inverse=True)
    sums = np.bincount(positions, weights=held.probabilities.reshape(-1))
    given = dict(zip(cells.tolist(), sums.tolist(), strict=True))
    found = []
    for cell, total in given.items():
        first, second = divmod(cell, n_classes)
        back = given.get(second * n_classes + first)
        if first >= second or back is None or min(counts[first], counts[second]) < TWIN_ROWS:
            continue
        share = min(total / own[first], back / own[second])
        together = min((own[first] + total) / counts[first], (own[second] + back) / counts[second])
        if share >= TWIN_SHARE and together >= TWIN_PROBABILITY:
            found.append(TwinClasses(first, second, float(share)))
    return sorted(found, key=lambda twins: -twins.share)
