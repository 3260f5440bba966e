"""Probabilities and thresholds of labels of which a row may have several.

The probability of label c is ``1 / (1 + exp(-(scale s_c + offset_c)))``: labels do not exclude one
another, so each has its own. The scale is shared; the offsets differ as far as the held-out rows of
a label show it. Both are found by minimising the log loss over all held-out rows and labels.

A label is given where its probability reaches a threshold. Thresholds for the best F1 score, or for
a wanted precision, lie at the score of a held-out row that has the label. So these scores, each
with the number of rows without the label that score as high, are all that the model keeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, ascends
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models.calibration.classes import LEAST_ROWS, SOURCES
from myriad.models.calibration.rejection import read_goal
from myriad.serialisation import Serialisable

MOST_SCORES = 16_000_000
"""Scores of held-out rows that calibrate, all labels together: 64 MB."""
OFFSET_PENALTY = 0.5
"""Weight of the squared difference of an offset from the common one in the sum of log losses."""
CHUNK = 1 << 20
"""Scores of which derivatives are computed at a time."""
LEAST_SCALE = 1e-6
NEWTON_STEPS = 30
F1_POSITIVES = 10
"""Held-out rows of a label from which on it has its own threshold for F1."""
ROUNDING = 1e-4
"""Logits that differ by less are equal: scores are rounded in another way in other batches."""
GOALS = ("f1", "precision")


@dataclass(frozen=True)
class Assignment:
    """The rule by which labels are assigned to a row.

    Attributes
    ----------
    goal : ``f1``, the best F1 score of each label; or ``precision``.
    value : the wanted precision; 0 with ``f1``.
    """

    goal: str = "f1"
    value: float = 0.0

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise InputError(f"Labels are assigned by {' or '.join(GOALS)}, not by {self.goal!r}.")
        if self.goal == "precision" and not 0.0 < self.value < 1.0:
            raise InputError(f"precision must be above 0 and below 1, not {self.value:g}.")

    @classmethod
    def parse(cls, text: str) -> Assignment:
        """Return the assignment of a text such as ``f1`` or ``precision=0.9``."""
        if text.strip() == "f1":
            return cls()
        found = read_goal(text)
        if found is None:
            raise InputError(f"Labels are assigned by f1 or precision=0.9, not by {text!r}.")
        return cls(*found)


@dataclass(frozen=True, eq=False)
class LabelCalibration(Serialisable, kind="label_calibration"):
    """The map from scores to label probabilities, with statistics of the held-out rows.

    Attributes
    ----------
    scale : what scores are multiplied by.
    offsets : float32 array of shape (n_classes,), added to the scaled scores.
    source : where the held-out rows come from; one of `SOURCES`.
    n_rows : number of held-out rows.
    starts : int64 array of shape (n_classes + 1,); the held-out rows that have label c lie at
        ``starts[c]`` to ``starts[c + 1]`` of the next arrays, best first.
    logits : float32 array, their scaled scores.
    wrong : int64 array, how many rows without the label have at least this logit.
    wrong_overall : int64 array, the same for all labels together.
    """

    scale: float
    offsets: Float
    source: str
    n_rows: int
    starts: NDArray[np.int64]
    logits: Float
    wrong: NDArray[np.int64]
    wrong_overall: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not isinstance(self.scale, float) or not 0 < self.scale < math.inf:
            raise InputError("The scale of the probabilities of labels is not a number above 0.")
        arrays = (self.offsets, self.starts, self.logits, self.wrong, self.wrong_overall)
        if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
            raise InputError("The probabilities of labels lack their arrays.")
        sizes = {len(array) for array in arrays[2:]}
        fits = len(self.starts) == len(self.offsets) + 1 and sizes == {int(self.starts[-1])}
        if not fits or not ascends(self.starts) or self.source not in SOURCES:
            raise InputError("The probabilities of labels do not fit together.")

    @property
    def positives(self) -> NDArray[np.int64]:
        """How many held-out rows have each label."""
        return np.diff(self.starts)

    def select(self, classes: NDArray[np.int64]) -> LabelCalibration:
        """Return the calibration of some labels.

        Their probabilities and own thresholds stay the same. `wrong_overall` is reduced in
        proportion to the rows without a label, as the logits of those are not kept.
        """
        negatives = self.n_rows - self.positives
        share = negatives[classes].sum() / max(negatives.sum(), 1)
        own = np.concatenate([np.arange(self.starts[c], self.starts[c + 1]) for c in classes])
        return replace(
            self,
            offsets=self.offsets[classes],
            starts=np.concatenate([[0], np.cumsum(self.positives[classes])]).astype(np.int64),
            logits=self.logits[own],
            wrong=self.wrong[own],
            wrong_overall=np.rint(share * self.wrong_overall[own]).astype(np.int64),
        )

    def find_logits(self, scores: Float) -> Float:
        """Return the logits of scores (n_rows, n_classes), float32."""
        found: Float = np.float32(self.scale) * scores + self.offsets
        return found

    def find_thresholds(self, assignment: Assignment) -> NDArray[np.float64]:
        """Return the least logit with which each label is given, (n_classes,).

        Labels with too few held-out rows have the threshold that suits all labels together. A label
        that does not reach the wanted precision is never given: its threshold is infinite.
        """
        common = self._find_common(assignment)
        found = np.full(len(self.offsets), common)
        least = F1_POSITIVES
        if assignment.goal == "precision":  # with fewer rows, one wrong row is too many
            least = math.ceil(assignment.value / (1.0 - assignment.value))
        for c in np.flatnonzero(self.positives >= least):
            own = slice(self.starts[c], self.starts[c + 1])
            index = choose(self.wrong[own], assignment)
            found[c] = math.inf if index is None else self.logits[own][index] - ROUNDING
        return found

    def _find_common(self, assignment: Assignment) -> float:
        order = np.argsort(-self.logits, kind="stable")
        wrong = self.wrong_overall[order]
        index = choose(wrong, assignment)
        if index is None:
            right = np.arange(1, len(wrong) + 1)
            most = float((right / (right + wrong + 1.0)).max(initial=0.0))
            raise InputError(
                f"No threshold reaches a precision of {assignment.value:g} on the {self.n_rows} "
                f"held-out rows; the highest that can be shown is {math.floor(1000 * most) / 1000}."
            )
        return float(self.logits[order[index]]) - ROUNDING

    def to_json(self) -> dict[str, Any]:
        """Return the summary of the calibration that ``train`` prints."""
        return {"rows": self.n_rows, "source": self.source, "temperature": 1.0 / self.scale}


def choose(wrong: NDArray[np.int64], assignment: Assignment) -> int | None:
    """Return the row with the label whose logit is the best threshold; None if none reaches it.

    Parameters
    ----------
    wrong : for each row with the label, best first, how many without it have at least its logit.
    """
    right = np.arange(1, len(wrong) + 1)
    if len(wrong) == 0:
        return None
    if assignment.goal == "f1":
        return int(np.argmax(2.0 * right / (right + wrong + len(wrong))))
    # One more wrong label than there are is counted, as in `Rejection`.
    reached = np.flatnonzero(right / (right + wrong + 1.0) >= assignment.value)
    return int(reached[-1]) if len(reached) else None


def calibrate_labels(scores: Float, sets: LabelSets, source: str) -> LabelCalibration | None:
    """Return the probabilities and thresholds of labels; None if the held-out rows are too few.

    Parameters
    ----------
    scores : float32 array of shape (n_rows, n_classes), of rows that were not trained on.
    sets : the labels of these rows.
    """
    finite = np.flatnonzero(np.isfinite(scores).all(axis=1))
    scores, sets = scores[finite], sets.select(finite)
    n_rows, n_classes = scores.shape
    if n_rows < LEAST_ROWS or len(sets.classes) == 0:
        return None
    positive = sets.to_matrix(n_classes)
    scale, offsets = fit(scores, positive)
    logits = np.float32(scale) * scores + offsets
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(positive.sum(axis=0))])
    found, wrong = np.empty(starts[-1], np.float32), np.empty(starts[-1], np.int64)
    for c in range(n_classes):
        own = slice(starts[c], starts[c + 1])
        found[own] = np.sort(logits[positive[:, c], c])[::-1]
        wrong[own] = count_at_least(logits[~positive[:, c], c], found[own])
    lowest = found.min()
    others = logits[~positive & (logits >= lowest)]
    return LabelCalibration(
        scale, offsets, source, n_rows, starts, found, wrong, count_at_least(others, found)
    )


def count_at_least(values: Float, limits: Float) -> NDArray[np.int64]:
    """Return how many of the values are at least each limit."""
    return (len(values) - np.searchsorted(np.sort(values), limits, side="left")).astype(np.int64)


def fit(scores: Float, positive: NDArray[np.bool_]) -> tuple[float, Float]:
    """Return the scale and the offsets with the least penalised log loss, by Newton's method.

    The Hessian is that of one number shared by all labels, the scale, one common offset, and a
    deviation of each label from it: diagonal but for its first two rows.
    """
    spread = float(scores.std()) or 1.0
    share = min(max(float(positive.mean()), 1e-9), 1 - 1e-9)
    scale, common = 1.0 / spread, math.log(share / (1.0 - share))
    own = np.zeros(scores.shape[1])
    value = measure(scores, positive, scale, common, own)
    for _ in range(NEWTON_STEPS):
        sums = add_derivatives(scores, positive, scale, common + own)
        by_class = sums.error + 2.0 * OFFSET_PENALTY * own
        shared = np.array([sums.error_score.sum(), sums.error.sum()])
        cross = np.stack([sums.curve_score, sums.curve])
        corner, edge = sums.curve_square.sum(), sums.curve_score.sum()
        block = np.array([[corner, edge], [edge, sums.curve.sum()]])
        diagonal = sums.curve + 2.0 * OFFSET_PENALTY
        schur = block - (cross / diagonal) @ cross.T + 1e-9 * np.trace(block) * np.eye(2)
        first = np.linalg.solve(schur, shared - (cross / diagonal) @ by_class)
        rest = (by_class - first @ cross) / diagonal
        size, before = 1.0, value
        while size > 1e-6:
            tried = max(scale - size * float(first[0]), LEAST_SCALE)
            moved = common - size * float(first[1]), own - size * rest
            value = measure(scores, positive, tried, *moved)
            if value <= before:
                scale, (common, own) = tried, moved
                break
            size *= 0.5
        if before - value < 1e-7 * abs(before):
            break
    return scale, (common + own).astype(np.float32)


@dataclass
class Derivatives:
    """Sums over rows, an entry for each label.

    Attributes
    ----------
    error, error_score : of p - y, and of this times the score: first derivatives of the log loss.
    curve, curve_score, curve_square : of p (1 - p), times the score, and times its square.
    """

    error: Any = 0.0
    error_score: Any = 0.0
    curve: Any = 0.0
    curve_score: Any = 0.0
    curve_square: Any = 0.0


def add_derivatives(
    scores: Float, positive: NDArray[np.bool_], scale: float, offsets: NDArray[np.float64]
) -> Derivatives:
    """Return the derivatives of the log loss, without the penalty."""
    sums = Derivatives()
    for part in cut(scores):
        s = scores[part].astype(np.float64)
        p = sigmoid(scale * s + offsets)
        error, curve = p - positive[part], p * (1.0 - p)
        sums.error = sums.error + error.sum(axis=0)
        sums.error_score = sums.error_score + (error * s).sum(axis=0)
        sums.curve = sums.curve + curve.sum(axis=0)
        curve *= s
        sums.curve_score = sums.curve_score + curve.sum(axis=0)
        sums.curve_square = sums.curve_square + (curve * s).sum(axis=0)
    return sums


def measure(
    scores: Float,
    positive: NDArray[np.bool_],
    scale: float,
    common: float,
    own: NDArray[np.float64],
) -> float:
    """Return the penalised log loss, summed over rows and labels."""
    total = OFFSET_PENALTY * float((own**2).sum())
    for part in cut(scores):
        logits = scale * scores[part].astype(np.float64) + (common + own)
        total += float(np.logaddexp(0.0, np.where(positive[part], -logits, logits)).sum())
    return total


def cut(scores: Float) -> Iterator[slice]:
    """Yield ranges of rows, so that little more than the scores is ever in memory."""
    size = max(1, CHUNK // scores.shape[1])
    for first in range(0, len(scores), size):
        yield slice(first, min(first + size, len(scores)))


def sigmoid(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``1 / (1 + exp(-x))`` in float64, without overflow."""
    halves = 0.5 * np.asarray(logits, np.float64)
    return 0.5 * (1.0 + np.tanh(halves))
