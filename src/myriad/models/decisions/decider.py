"""From rows to decisions: ranked classes with probabilities, prediction sets, "unknown".

`Decider` is shared by ``predict``, ``evaluate``, `myriad.load` and the server. Scores are computed
for a block of rows at a time; the scores of all rows are never in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.calibration.classes import LEAST_ROWS, Calibration
from myriad.models.calibration.labels import Assignment, LabelCalibration
from myriad.models.calibration.novelty import Novelty
from myriad.models.calibration.rejection import Rejection
from myriad.models.decisions.conformal import SetRule, find_sets
from myriad.models.decisions.hierarchy import CONFIDENCE, Hierarchy
from myriad.models.decisions.scored_blocks import LabelBlock, ScoredBlock
from myriad.models.folder import ModelFolder
from myriad.models.model import Model
from myriad.models.ranking import rank_scores, sum_exponentials

HOW_TO_CALIBRATE = (
    "train it again with this version, without --calibration none, on data of which at least "
    f"{LEAST_ROWS} rows can be held out"
)
FIRST_CLASSES = 64
"""Number of best classes that are searched first for the end of a prediction set."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions for some rows; None for what was not requested or is not available.

    Attributes
    ----------
    labels : int32 array of shape (n_rows, k), the best classes, best first.
    scores : float32 array of shape (n_rows, k), their scores.
    probabilities : float64 array of shape (n_rows, k); None if the model is not calibrated.
    sets : list of int32 arrays, the prediction set of each row, best class first.
    unknown : bool array of shape (n_rows,), whether no label is given.
    novelty : float64 array of shape (n_rows,), the fraction of rows of known classes that are less
        novel.
    levels, groups, confidences : int64, int64 and float64 arrays of shape (n_rows,), the answer in
        the hierarchy; see `Hierarchy.decide`.
    assigned : list of int32 arrays, the labels given to each row where it may have several, the
        most probable first.
    """

    labels: Ints
    scores: Float
    probabilities: NDArray[np.float64] | None = None
    sets: list[Ints] | None = None
    unknown: NDArray[np.bool_] | None = None
    novelty: NDArray[np.float64] | None = None
    levels: NDArray[np.int64] | None = None
    groups: NDArray[np.int64] | None = None
    confidences: NDArray[np.float64] | None = None
    assigned: list[Ints] | None = None


class Decider:
    """Computes ranked labels, probabilities, prediction sets and rejections for rows.

    Parameters
    ----------
    folder : the model, its class names and its calibration.
    weights : float array of shape (n_classes,) that multiplies the probabilities of the classes,
        which then sum to 1 again; 0 leaves a class out. None for all 1.
    coverage : target probability that the prediction set of a row has its class; None for no sets.
    set_method : method of prediction sets; one of `SET_METHODS`.
    by_class : whether the coverage should hold for every class; see `find_sets`.
    reject : the rule for rejecting rows; None for never.
    hierarchy : groups of classes; the answer is at the finest level with enough confidence.
    confidence : minimum probability of an answer in the hierarchy.
    assign : thresholds of labels in multi-label models; None for the best F1 of each.
    """

    def __init__(
        self,
        folder: ModelFolder,
        *,
        weights: NDArray[np.float64] | None = None,
        coverage: float | None = None,
        set_method: str = "raps",
        by_class: bool = False,
        reject: Rejection | None = None,
        hierarchy: Hierarchy | None = None,
        confidence: float = CONFIDENCE,
        assign: Assignment | None = None,
    ) -> None:
        self.folder = folder
        self.model: Model = folder.model
        self.calibration: Calibration | None = folder.calibration
        self.label_calibration: LabelCalibration | None = folder.label_calibration
        self.thresholds: NDArray[np.float64] | None = None
        if self.label_calibration is not None:
            self.thresholds = self.label_calibration.find_thresholds(assign or Assignment())
        elif assign is not None:
            self._refuse_assignment()
        self.hierarchy, self.confidence, self.reject = hierarchy, confidence, reject
        self._offsets: NDArray[np.float64] | None = None
        self.n_allowed = self.model.n_classes
        if weights is not None:
            self._set_weights(weights)
        self.sets: SetRule | None = None
        if coverage is not None:
            calibration = self.require_calibration("A coverage")
            self.sets = find_sets(
                calibration,
                coverage,
                method=set_method,
                by_class=by_class,
                n_classes=self.model.n_classes,
            )
        self.least_confidence, self.most_novel = 0.0, np.inf
        if reject is not None:
            calibration = self.require_calibration("Rejection")
            if reject.goal == "novelty":
                self.most_novel = self._require_novelty().find_limit(reject.value)
            else:
                self.least_confidence = reject.find_confidence(calibration)
        if hierarchy is not None:
            self.require_calibration("A hierarchy")
            if not 0.0 < confidence < 1.0:
                raise InputError(f"A confidence must be above 0 and below 1, not {confidence:g}.")

    def _set_weights(self, weights: NDArray[np.float64]) -> None:
        check_weights(weights, self.model.n_classes)
        if (weights == 1).all():
            return
        with np.errstate(divide="ignore"):
            self._offsets = np.log(weights)
        self.n_allowed = int(np.count_nonzero(weights))
        if np.unique(weights[weights > 0]).size > 1 and self.label_calibration is None:
            self.require_calibration("Weights of classes")

    @property
    def is_calibrated(self) -> bool:
        """Whether there are probabilities."""
        return self.calibration is not None or self.label_calibration is not None

    def require_calibration(self, what: str) -> Calibration:
        """Return the calibration; `InputError` with what to do if there is none."""
        if self.label_calibration is not None:
            raise InputError(
                f"{what} is for single-label models, and this is a multi-label model: leave it "
                "out, or choose with --assign which labels are given."
            )
        if self.calibration is None:
            raise InputError(
                f"{what} needs probabilities, which this model does not have: {HOW_TO_CALIBRATE}."
            )
        return self.calibration

    def decide(self, X: Float, k: int = 5) -> Decisions:
        """Return the decisions for rows, float32 of shape (n_rows, n_features)."""
        k = min(self.model.best_of(k), self.n_allowed)
        if not self.is_calibrated and self._offsets is None:
            labels, scores = self.model.rank(X, k)
            refuse_overflow(scores)
            return Decisions(labels, scores)
        parts = [self.decide_block(block, X[chunk], k) for chunk, block in self.blocks(X, k)]
        if not parts:
            nothing = np.zeros((0, k), np.float32)
            return Decisions(nothing.astype(np.int32), nothing)
        return join(parts)

    def predict_proba(self, X: Float) -> NDArray[np.float64]:
        """Return the probabilities of all classes, of shape (n_rows, n_classes).

        They sum to 1 unless rows may have several labels.
        """
        if self.label_calibration is None:
            self.require_calibration("predict_proba")
        found = np.empty((len(X), self.model.n_classes))
        for chunk, block in self.blocks(X):
            found[chunk] = block.probabilities()
        return found

    def describe(self, decisions: Decisions) -> list[dict[str, Any]]:
        """Return the decision of each row as plain JSON.

        ``labels`` lists the best labels, each with its ``score`` and, where the model is
        calibrated, its ``probability``. Further keys are present on request: ``set`` (labels),
        ``unknown`` (true or false), ``novelty``, ``assigned`` (labels), and ``answer`` with its
        ``level``, ``label`` and ``probability``; the label is None if no level has enough
        confidence.
        """
        return [self._describe_row(decisions, row) for row in range(len(decisions.labels))]

    def blocks(self, X: Float, k: int = 1) -> Iterator[tuple[slice, ScoredBlock]]:
        """Yield ranges of rows and their scores, with at least the `k` best classes ranked."""
        for chunk in self.model.chunks(len(X)):
            scores = self.model.scores(X[chunk])
            refuse_overflow(scores, chunk.start)
            if self.label_calibration is not None:
                yield chunk, self._block_of_labels(scores, k, self.label_calibration)
                continue
            ranked = rank_scores(scores, max(k, 2))
            best, logits = ranked[1][:, 0], scores
            scales = np.ones(len(scores), np.float32)
            if self.calibration is not None:
                scales = self.calibration.scales(best)
            if self._offsets is not None:
                logits = (scales[:, None] * scores + self._offsets).astype(np.float32)
                scales = np.ones_like(scales)
                ranked = rank_scores(logits, max(k, 2))
            log_sums, bonuses = np.zeros(len(scores)), np.zeros(len(scores))
            if self.calibration is not None:
                top, second = ranked[1][:, 0], ranked[1][:, :2][:, -1]  # there may be one class
                bonuses = self.calibration.bonuses(scales * top, scales * second)
                sum_exponentials(logits, scales, top, bonuses, log_sums)
            yield chunk, ScoredBlock(scores, best, logits, scales, log_sums, bonuses, ranked)

    def _block_of_labels(self, scores: Float, k: int, calibration: LabelCalibration) -> LabelBlock:
        """Return the scores of rows that may have several labels; a weight multiplies the odds."""
        logits = calibration.find_logits(scores)
        if self._offsets is not None:
            logits = (logits + self._offsets).astype(np.float32)
        ones, zeros = np.ones(len(scores), np.float32), np.zeros(len(scores))
        best, ranked = np.maximum.reduce(scores, axis=1), rank_scores(logits, k)
        return LabelBlock(scores, best, logits, ones, zeros, zeros, ranked)

    def assign_labels(self, block: ScoredBlock) -> list[Ints]:
        """Return the labels given to the rows of a block, the most probable first."""
        found = []
        for logits in block.logits:
            given = np.flatnonzero(logits >= self.thresholds).astype(np.int32)
            found.append(given[np.argsort(-logits[given], kind="stable")])
        return found

    def decide_block(self, block: ScoredBlock, X: Float, k: int) -> Decisions:
        """Return the decisions for the rows `X` of a block."""
        labels, logits = block.rank(k)
        scores = logits
        if self._offsets is not None or self.label_calibration is not None:
            scores = np.take_along_axis(block.scores, labels.astype(np.int64), axis=1)
        if self.label_calibration is not None:
            given = self.assign_labels(block)
            return Decisions(labels, scores, block.probabilities_of(logits), assigned=given)
        if self.calibration is None:
            return Decisions(labels, scores)
        probabilities = block.probabilities_of(logits)
        found: dict[str, Any] = {}
        if self.sets is not None:
            found["sets"] = self.find_sets(block)
        if self.reject is not None:
            found["unknown"] = probabilities[:, 0] < self.least_confidence
            if self.reject.goal == "novelty":
                novelty = self._require_novelty()
                best_scores = self.calibration.standardise(block.best)
                measured = novelty.measure(self.model.prepare(X), best_scores)
                found["unknown"] |= measured > self.most_novel
                found["novelty"] = novelty.compare(measured)
        if self.hierarchy is not None:
            answers = self.hierarchy.decide(block.probabilities(), self.confidence)
            found |= dict(zip(("levels", "groups", "confidences"), answers, strict=True))
        return Decisions(labels, scores, probabilities, **found)

    def find_sets(self, block: ScoredBlock) -> list[Ints]:
        """Return the prediction sets of the rows of a block, each with its best class first."""
        assert self.sets is not None
        k = min(FIRST_CLASSES, self.n_allowed)
        labels, logits = block.rank(k)
        included, is_open = self.sets.include(block.probabilities_of(logits), labels)
        found = [row[kept] for row, kept in zip(labels, included, strict=True)]
        if k < self.n_allowed:
            for row in np.flatnonzero(is_open):
                one = slice(row, row + 1)
                every = np.argsort(-block.logits[row], kind="stable")[: self.n_allowed]
                ranked = every.astype(np.int32)[None]
                values = block.probabilities_of(block.logits[one, every], one)
                found[row] = ranked[self.sets.include(values, ranked)[0]]
        return found

    def _refuse_assignment(self) -> None:
        if self.calibration is not None:
            raise InputError(
                "--assign is for multi-label models, and this is a single-label model."
            )
        raise InputError(f"--assign needs probabilities of labels: {HOW_TO_CALIBRATE}.")

    def _require_novelty(self) -> Novelty:
        novelty = self.require_calibration("Novelty").novelty
        if novelty is None:
            raise InputError(
                "The model has no novelty score: it had too few training rows or too many features."
            )
        return novelty

    def _describe_row(self, decisions: Decisions, row: int) -> dict[str, Any]:
        names = self.folder.class_names
        entries: list[dict[str, Any]] = [
            {"label": names[c], "score": score}
            for c, score in zip(decisions.labels[row], decisions.scores[row].tolist(), strict=True)
        ]
        if decisions.probabilities is not None:
            for entry, value in zip(entries, decisions.probabilities[row].tolist(), strict=True):
                entry["probability"] = value
        found: dict[str, Any] = {"labels": entries}
        if decisions.sets is not None:
            found["set"] = [names[c] for c in decisions.sets[row]]
        if decisions.assigned is not None:
            found["assigned"] = [names[c] for c in decisions.assigned[row]]
        if decisions.unknown is not None:
            found["unknown"] = bool(decisions.unknown[row])
        if decisions.novelty is not None:
            found["novelty"] = float(decisions.novelty[row])
        if decisions.levels is not None:
            found["answer"] = self._describe_answer(decisions, row)
        return found

    def _describe_answer(self, decisions: Decisions, row: int) -> dict[str, Any]:
        assert self.hierarchy is not None
        assert decisions.levels is not None
        assert decisions.groups is not None
        assert decisions.confidences is not None
        level: str | None = None
        label: str | None = None
        if decisions.levels[row] >= 0:
            level, label = self.hierarchy.name(
                int(decisions.levels[row]), int(decisions.groups[row]), self.folder.class_names
            )
        return {"level": level, "label": label, "probability": float(decisions.confidences[row])}


def join(parts: list[Decisions]) -> Decisions:
    """Return the decisions of several blocks as one."""
    found: dict[str, Any] = {}
    for field in fields(Decisions):
        values = [getattr(part, field.name) for part in parts]
        if isinstance(values[0], list):
            found[field.name] = [one for some in values for one in some]
        elif values[0] is not None:
            found[field.name] = np.concatenate(values)
    return Decisions(**found)


def check_weights(weights: NDArray[np.float64], n_classes: int) -> None:
    """Raise `InputError` unless there is a weight for each class, none negative and one above 0."""
    if weights.shape != (n_classes,):
        raise InputError(f"{n_classes} classes need as many weights, not {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("The weights of classes must be finite numbers of at least 0.")
    if not weights.any():
        raise InputError("At least one class needs a weight above 0.")


def refuse_overflow(scores: Float, first: int = 0) -> None:
    """Raise `InputError` for scores beyond float32, of which no probabilities can be computed.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes); one that is -inf leaves a class out.
    first : the number of the first row.
    """
    if scores.shape[1] and not np.isfinite(best := scores.max(axis=1)).all():
        row = first + int(np.flatnonzero(~np.isfinite(best))[0])
        raise InputError(f"Row {row} has values that are too large: its scores are not finite.")
