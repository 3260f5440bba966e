"""Labels that may be wrong, by confident learning on held-out probabilities.

A class has a threshold: the mean probability that its own rows give it [1]_. Classes of few rows
have an uncertain mean, so it is shrunk towards that of all classes. A row probably belongs to
another class if that class reaches its threshold and its own label does not. Rows are ranked by the
logarithm of the square root of the probability of the other label, over that of their own: random
errors are found best by the latter alone, errors between similar classes by the ratio of both. A
small number is added to both, since differences between very small probabilities mean nothing.

Models that are trained on wrong labels fit some of them. So there are several rounds of
cross-fitting, each with other folds, and each but the first without the rows whose label the round
before found to be wrong. The scores of a row are averaged over the rounds.

Where classes look alike, many rows with a correct label have a high score. So the share of wrong
labels above a score is estimated: the number of rows that would have such a score if all labels
were correct, that is, drawn from the probabilities, is computed. The excess over it is wrong.

.. [1] C. Northcutt, L. Jiang, I. Chuang. Confident Learning: Estimating Uncertainty in Dataset
   Labels. Journal of Artificial Intelligence Research 70, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.checks.cross_fitting import (
    BLOCK_ROWS,
    KEPT_CLASSES,
    HeldProbabilities,
    choose_settings,
    cross_fit,
)
from myriad.store import Rows
from myriad.training.context import DEFAULT_CONTEXT, Context
from myriad.training.method import Method

ROUNDS = 3
"""Rounds of cross-fitting."""
MAX_EXCLUDED = 0.5
"""Fraction of the rows of a class that a round may be trained without."""
PRIOR_ROWS = 5.0
"""Weight, in rows, of the mean over all classes in the threshold of a class."""
ALTERNATIVE_WEIGHT, FLOOR = 0.5, 0.003
"""The weight of the logarithm of the other label's probability, and what is added to probabilities
before their logarithm is taken. Larger values of both rank errors between similar classes better,
and random ones worse: chosen on training images of Scene 15 and Caltech-101, see
``recipes/data_faults.py``."""
MIN_PRECISION, SURE_PRECISION = 0.5, 0.85
"""Minimum expected share of wrong labels among those called likely wrong and surely wrong. Without
the latter, models were never less accurate on average: chosen with planted errors in training
images, see ``recipes/data_faults.py``."""
BIN = 0.02
"""The width of the bins in which scores are counted."""
TWIN_SHARE = 0.5
"""Two classes count as duplicates if the rows of each give the other class at least this
fraction of the probability of their own."""
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
    wrong : bool array of shape (n,), whether another class is more likely: possibly wrong labels.
    likely, sure : bool arrays of shape (n,), whether at least `MIN_PRECISION` or
        `SURE_PRECISION` of the labels with such a score are expected to be wrong; `rank_labels`
        sets none.
    """

    held: HeldProbabilities
    suggested: NDArray[np.int32]
    alternative: NDArray[np.float32]
    score: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    likely: NDArray[np.bool_]
    sure: NDArray[np.bool_]

    def list_wrong(self) -> NDArray[np.int64]:
        """Return the positions of rows with a possibly wrong label, the most certain first."""
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
    score = score_labels(alternative, held.given)
    wrong = (alternative >= thresholds[suggested]) & (alternative > held.given)
    wrong &= held.given < thresholds[held.labels]
    nothing = np.zeros(len(held), bool)
    found = suggested, alternative.astype(np.float32), score
    return RankedLabels(held, *found, wrong, likely=nothing, sure=nothing)


def score_labels(alternative: NDArray[Any], given: NDArray[Any]) -> NDArray[np.float64]:
    """Return scores, higher where labels are more surely wrong.

    Parameters
    ----------
    alternative, given : the probabilities of another label, and of the label itself.
    """
    score: NDArray[np.float64] = ALTERNATIVE_WEIGHT * np.log(alternative.astype(np.float64) + FLOOR)
    score -= np.log(given.astype(np.float64) + FLOOR)
    return score


class ExpectedScores:
    """Expected number of rows with correct labels per score, averaged over rounds."""

    def __init__(self) -> None:
        self._sums, self._rounds = np.zeros(0), 0

    def add(self, held: HeldProbabilities, n_classes: int) -> None:
        """Count the scores that rows would have if their labels were drawn from probabilities."""
        sums = np.zeros(len(_bin(np.zeros(1))[1]))
        for start in range(0, len(held), BLOCK_ROWS):
            given = held.probabilities[start : start + BLOCK_ROWS].astype(np.float64)
            given /= np.maximum(given.sum(axis=1, keepdims=True), 1.0)
            # Classes that are not kept count as one that has their mean probability.
            n_others = max(n_classes - given.shape[1], 1)
            rest = np.maximum(1.0 - given.sum(axis=1, keepdims=True), 0.0)
            weights = np.concatenate([given, rest], axis=1)
            given = np.concatenate([given, rest / n_others], axis=1)
            best = np.repeat(given[:, :1], given.shape[1], axis=1)
            best[:, 0] = given[:, 1]
            bins, _ = _bin(score_labels(best, given))
            sums += np.bincount(bins.reshape(-1), weights.reshape(-1), len(sums))
        self._sums = sums + (self._sums if self._rounds else 0.0)
        self._rounds += 1

    def find_threshold(self, score: NDArray[np.float64], precision: float) -> float:
        """Return the lowest score from which on that share of labels is expected to be wrong."""
        bins, edges = _bin(score)
        n_above = np.bincount(bins, minlength=len(edges))[::-1].cumsum()[::-1]
        expected = self._sums[::-1].cumsum()[::-1] / self._rounds
        enough = np.flatnonzero((n_above > 0) & (n_above - expected >= precision * n_above))
        return float(edges[enough[0]]) if len(enough) else np.inf


def _bin(score: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bin of each score, and the lower edges of all bins."""
    lowest, highest = ALTERNATIVE_WEIGHT * np.log(FLOOR), -np.log(FLOOR)
    edges = lowest - 1.0 + BIN * np.arange(int((highest - lowest + 2.0) / BIN))
    bins = ((score - edges[0]) / BIN).astype(np.int64)
    return np.clip(bins, 0, len(edges) - 1), edges


def find_label_errors(
    method: Method,
    rows: Rows,
    *,
    n_classes: int,
    n_kept: int = KEPT_CLASSES,
    context: Context = DEFAULT_CONTEXT,
) -> tuple[RankedLabels, HeldProbabilities]:
    """Rank rows by how surely another label than their own is right, in several rounds.

    A label is possibly wrong if most rounds find it so, and likely wrong if half of those with that
    score are expected to be. Probabilities and suggestions are those of the last round.

    Parameters
    ----------
    n_kept : best classes of a row whose probabilities are kept.

    Returns
    -------
    The ranking, and the probabilities of the first round, in which no row is left out.
    """
    method = choose_settings(method, rows, n_classes, context)
    first: HeldProbabilities | None = None
    excluded: NDArray[np.bool_] | None = None
    scores, votes = np.zeros(0), np.zeros(0, np.int64)
    expected = ExpectedScores()
    for draw in range(ROUNDS):
        held = ranked = None  # freed before the next round
        held = cross_fit(
            method,
            rows,
            n_classes=n_classes,
            n_kept=n_kept,
            excluded=excluded,
            draw=draw,
            context=context,
        )
        if first is not None and not np.array_equal(first.numbers, held.numbers):
            ranked = rank_labels(first, n_classes)
            break  # a fold could not be trained without the rows left out
        ranked = rank_labels(held, n_classes)
        if first is None:
            first, scores, votes = held, np.zeros(len(held)), np.zeros(len(held), np.int64)
        if draw:  # the models of the first round have fitted wrong labels
            expected.add(held, n_classes)
        scores += ranked.score
        votes += ranked.wrong
        n_rounds = draw + 1
        excluded = find_excluded(ranked, rows.n_rows, n_classes)
    assert ranked is not None
    assert first is not None
    if n_rounds == 1:
        expected.add(first, n_classes)
    score, wrong = scores / n_rounds, 2 * votes > n_rounds
    likely, sure = (
        wrong & (score >= expected.find_threshold(score, precision))
        for precision in (MIN_PRECISION, SURE_PRECISION)
    )
    return replace(ranked, score=score, wrong=wrong, likely=likely, sure=sure), first


def find_excluded(ranked: RankedLabels, n_rows: int, n_classes: int) -> NDArray[np.bool_]:
    """Return which rows the next round is trained without, (n_rows,).

    They are those whose label is probably wrong, but at most half of the rows of a class, so that
    no class is left without rows.
    """
    labels, wrong = ranked.held.labels, ranked.list_wrong()
    limits = MAX_EXCLUDED * np.bincount(labels, minlength=n_classes)
    own = labels[wrong]
    order = np.argsort(own, kind="stable")  # the most certain of a class stay first
    rank_in_class = np.empty(len(wrong), np.int64)
    rank_in_class[order] = np.arange(len(wrong)) - np.searchsorted(own[order], own[order])
    excluded = np.zeros(n_rows, bool)
    excluded[ranked.held.numbers[wrong[rank_in_class < limits[own]]]] = True
    return excluded


@dataclass(frozen=True)
class TwinClasses:
    """Two classes that models cannot distinguish on held-out rows.

    Attributes
    ----------
    first, second : the classes.
    share : the probability of the other label, relative to that of a row's own label, the lower of
        the two means; 1 where the classes are indistinguishable.
    """

    first: int
    second: int
    share: float


def find_twins(held: HeldProbabilities, n_classes: int) -> list[TwinClasses]:
    """Return pairs of classes that are probably duplicates, the most certain first."""
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
