"""Probabilities of rows by models that were trained without them, for every row of a data set.

The rows are cut into folds, and a model trained without a fold scores the rows of that fold. Of
each row only the probabilities of its own label and of a few best classes are kept, so that memory
does not grow with the number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models import Calibration, HeldScores, Model, calibrate
from myriad.models.calibration import LEAST_ROWS, sum_log
from myriad.models.held_scores import MOST_ROWS
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.store import Rows
from myriad.training.automatic.folds import count_groups, draw_folds
from myriad.training.context import DEFAULT_CONTEXT, Context
from myriad.training.method import Method
from myriad.training.validation import count_block_rows, cut_ranges

N_FOLDS = 5
KEPT_CLASSES = 10
"""Best classes of a row whose probabilities are kept."""


@dataclass(frozen=True, eq=False)
class HeldProbabilities:
    """What models say of rows that they were not trained on.

    Attributes
    ----------
    numbers : int64 array of shape (n,), the rows.
    labels : int32 array of shape (n,), the labels that they have.
    given : float32 array of shape (n,), the probability of that label.
    classes, probabilities : int32 and float32 arrays of shape (n, k), the best classes of each row
        and their probabilities, the best first.
    """

    numbers: NDArray[np.int64]
    labels: Ints
    given: Float
    classes: Ints
    probabilities: Float

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(
        cls,
        held: HeldScores,
        numbers: NDArray[np.int64],
        calibration: Calibration,
        n_kept: int = KEPT_CLASSES,
    ) -> Self:
        """Return the probabilities of held-out scores, those of the `n_kept` best classes."""
        scales = calibration.scales(held.scores[:, 0]).astype(np.float64)
        sums = sum_log(held, scales, calibration.bonus)
        k = min(n_kept, held.classes.shape[1])
        probabilities = np.exp(scales[:, None] * held.scores[:, :k] - sums[:, None])
        probabilities[:, 0] *= np.exp(calibration.bonus)
        given = np.exp(scales * held.true - sums)
        given = np.where(held.classes[:, 0] == held.labels, probabilities[:, 0], given)
        return cls(
            numbers,
            held.labels,
            given.astype(np.float32),
            held.classes[:, :k].copy(),
            probabilities.astype(np.float32),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[HeldProbabilities]) -> Self:
        """Return the probabilities of several sets of rows as one, in the order of the rows."""
        names = ("numbers", "labels", "given", "classes", "probabilities")
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        order = np.argsort(arrays["numbers"], kind="stable")
        return cls(**{name: array[order] for name, array in arrays.items()})


def cross_fit(
    method: Method,
    rows: Rows,
    *,
    n_classes: int,
    n_folds: int = N_FOLDS,
    n_kept: int = KEPT_CLASSES,
    context: Context = DEFAULT_CONTEXT,
) -> HeldProbabilities:
    """Return the probabilities of all labelled rows, each by a model trained without its fold.

    Settings that the method leaves open are searched on all rows first. Groups of rows are not
    divided among folds, so that a copy of a row does not vouch for its label.

    Parameters
    ----------
    n_kept : best classes of a row whose probabilities are kept.
    """
    known = np.flatnonzero(rows.labels >= 0)
    if rows.sets is not None or len(known) < LEAST_ROWS or len(np.unique(rows.labels[known])) < 2:
        raise InputError(
            f"Labels are checked where there are two classes and {LEAST_ROWS} rows or more, with "
            "one label each."
        )
    if method.is_open:
        found = method.fit(rows.select(known), None, n_classes=n_classes, context=context)
        method = method.settled(found)
    n_folds = min(n_folds, count_groups(rows.groups, rows.labels >= 0))
    if n_folds < 2:
        raise InputError("Labels cannot be checked: all rows are copies of one another.")
    folds = draw_folds(rows.labels, n_folds, seed=method.seed, groups=rows.groups)
    quiet = replace(context, checkpoint=None, workers=None)
    waiting: list[tuple[HeldScores, NDArray[np.int64]]] = []
    done: list[HeldProbabilities] = []
    calibration: Calibration | None = None
    with context.progress.step("Scoring held-out rows", n_folds, "folds") as advance:
        for fold in range(n_folds):
            kept, held = np.flatnonzero((folds >= 0) & (folds != fold)), folds == fold
            if not held.any() or len(np.unique(rows.labels[kept])) < 2:
                continue
            fitted = method.fit(rows.select(kept), None, n_classes=n_classes, context=quiet)
            numbers = np.flatnonzero(held)
            waiting.append((_score(fitted.model, rows.select(numbers)), numbers))
            if calibration is None and sum(len(one) for one, _ in waiting) >= MOST_ROWS:
                calibration = _calibrate(waiting)
            if calibration is not None:
                done += [HeldProbabilities.of(*one, calibration, n_kept) for one in waiting]
                waiting = []
            advance(1)
    if calibration is None:
        calibration = _calibrate(waiting)
        done += [HeldProbabilities.of(*one, calibration, n_kept) for one in waiting]
    return HeldProbabilities.concatenate(done)


def _score(model: Model, rows: Rows) -> HeldScores:
    """Return the scores of rows, the best ones of each."""
    parts = []
    with hold_blas_to_one_thread():  # the bits must not depend on the number of threads
        for some in cut_ranges(rows, count_block_rows(rows.dim, model.n_classes)):
            scores = model.scores(rows.read(some).astype(np.float32, copy=False))
            parts.append(HeldScores.of(scores, rows.labels[some.start : some.stop]))
    return HeldScores.concatenate(parts)


def _calibrate(waiting: Sequence[tuple[HeldScores, NDArray[np.int64]]]) -> Calibration:
    held = [one for one, _ in waiting]
    found = calibrate(HeldScores.concatenate(held), "cross-fitted") if held else None
    if found is None:
        n_held = sum(len(one) for one in held)
        raise InputError(
            f"Labels cannot be checked: {n_held} rows can be held out, {LEAST_ROWS} are needed."
        )
    return found
