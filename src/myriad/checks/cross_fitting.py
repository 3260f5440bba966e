"""Probabilities of rows by models that were trained without them, for every row of a data set.

The rows are cut into folds, and a model trained without a fold scores the rows of that fold. Of
each row only the probabilities of its own label and of a few best classes are kept, so that memory
does not grow with the number of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.images import ImageList
from myriad.models import Calibration, HeldScores, Model, calibrate
from myriad.models.calibration.classes import LEAST_ROWS, find_held_margins, sum_log
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.automatic.folds import count_groups, draw_folds
from myriad.training.context import DEFAULT_CONTEXT, Context
from myriad.training.method import Method
from myriad.training.validation import count_block_rows, cut_ranges

N_FOLDS = 5
DRAW_STRIDE = 100
"""Distance of the seeds of further draws of folds, so that they differ from those of other runs."""
CALIBRATION_ROWS = 2_000
"""Held-out rows that calibrate. The scores of others need not be kept: memory does not grow with
the number of classes."""
BLOCK_ROWS = 256
"""Rows whose scores are in memory at a time, by all classes."""
KEPT_CLASSES = 10
"""Best classes of a row whose probabilities are kept."""


@dataclass(frozen=True, eq=False)
class HeldProbabilities:
    """Probabilities of rows by models that were not trained on them.

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
        bonuses = calibration.bonus + calibration.gain * find_held_margins(held, scales)
        sums = sum_log(held, scales, bonuses)
        k = min(n_kept, held.classes.shape[1])
        probabilities = np.exp(scales[:, None] * held.scores[:, :k] - sums[:, None])
        probabilities[:, 0] *= np.exp(bonuses)
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
        numbers = np.concatenate([part.numbers for part in parts])
        order = np.argsort(numbers, kind="stable")
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        arrays, start = {}, 0
        for name in ("labels", "given", "classes", "probabilities"):
            array = getattr(parts[0], name)
            arrays[name] = np.empty((len(numbers), *array.shape[1:]), array.dtype)
        for part in parts:  # into their rows at once: the arrays are most of what a check keeps
            own = positions[start : start + len(part)]
            for name, array in arrays.items():
                array[own] = getattr(part, name)
            start += len(part)
        return cls(numbers[order], **arrays)


def cross_fit(
    method: Method,
    rows: Rows,
    *,
    n_classes: int,
    n_folds: int = N_FOLDS,
    n_kept: int = KEPT_CLASSES,
    excluded: NDArray[np.bool_] | None = None,
    draw: int = 0,
    context: Context = DEFAULT_CONTEXT,
) -> HeldProbabilities:
    """Return the probabilities of all labelled rows, each by a model trained without its fold.

    Settings that the method leaves open are searched on all rows first; see `choose_settings`.
    Groups of rows are not divided among folds: a model trained on a copy would confirm its label.

    Parameters
    ----------
    n_kept : best classes of a row whose probabilities are kept.
    excluded : bool array of shape (n_rows,), rows that are scored, but neither trained on nor used
        for the calibration.
    draw : number of the random division into folds.
    """
    method = choose_settings(method, rows, n_classes, context)
    left_out = np.zeros(rows.n_rows, bool) if excluded is None else excluded
    n_folds = min(n_folds, count_groups(rows.groups, rows.labels >= 0))
    if n_folds < 2:
        raise InputError("Labels cannot be checked: all rows are copies of one another.")
    seed = method.seed + DRAW_STRIDE * draw
    folds = draw_folds(rows.labels, n_folds, seed=seed, groups=rows.groups)
    fold_context = replace(context, checkpoint=None, workers=None)
    pending: list[Scored] = []
    done: list[HeldProbabilities] = []
    calibration: Calibration | None = None
    draws = generator(seed, "calibration of held-out rows")
    title = f"Cross-validation, round {draw + 1}"
    with context.progress.step(title, n_folds, "folds") as advance:
        for fold in range(n_folds):
            kept = np.flatnonzero((folds >= 0) & (folds != fold) & ~left_out)
            held = folds == fold
            if not held.any() or len(np.unique(rows.labels[kept])) < 2:
                continue
            fitted = method.fit(rows.select(kept), None, n_classes=n_classes, context=fold_context)
            numbers = np.flatnonzero(held)
            if calibration is None and len(numbers) > CALIBRATION_ROWS:
                drawn = np.sort(draws.permutation(numbers)[:CALIBRATION_ROWS])
                sample = list(_score(fitted.model, rows, drawn))
                calibration = _calibrate([*pending, *sample], left_out)
            if calibration is None:
                pending += _score(fitted.model, rows, numbers)
                if sum(len(one) for one, _ in pending) >= CALIBRATION_ROWS:
                    calibration = _calibrate(pending, left_out)
            else:
                scored = _score(fitted.model, rows, numbers)
                done += (HeldProbabilities.of(*some, calibration, n_kept) for some in scored)
            if calibration is not None:
                done += [HeldProbabilities.of(*one, calibration, n_kept) for one in pending]
                pending = []
            advance(1)
    if calibration is None:
        calibration = _calibrate(pending, left_out)
        done += [HeldProbabilities.of(*one, calibration, n_kept) for one in pending]
    return HeldProbabilities.concatenate(done)


def require_checkable(items: Rows | ImageList) -> None:
    """Raise `InputError` unless the labels of rows or images can be checked."""
    if items.sets is not None:
        raise InputError("Labels are checked where each image or row has one, not several.")
    known = items.labels[items.labels >= 0]
    if len(known) < LEAST_ROWS or len(np.unique(known)) < 2:
        raise InputError(
            f"Labels are checked where there are two classes and {LEAST_ROWS} images or rows, not "
            f"{len(known)}."
        )


def choose_settings(method: Method, rows: Rows, n_classes: int, context: Context) -> Method:
    """Return a method with the settings that a search on all labelled rows chooses.

    Raises `InputError` if labels of such rows cannot be checked.
    """
    known = np.flatnonzero(rows.labels >= 0)
    require_checkable(rows)
    if not method.is_open:
        return method
    fitted = method.fit(rows.select(known), None, n_classes=n_classes, context=context)
    return method.settled(fitted)


Scored = tuple[HeldScores, NDArray[np.int64]]
"""The best scores of some rows, and the numbers of the rows."""


def _score(model: Model, rows: Rows, numbers: NDArray[np.int64]) -> Iterator[Scored]:
    """Yield the best scores of rows, some rows at a time."""
    held = rows.select(numbers)
    for some in cut_ranges(held, count_block_rows(rows.dim, model.n_classes, most=BLOCK_ROWS)):
        part = slice(some.start, some.stop)
        with hold_blas_to_one_thread():  # the bits must not depend on the number of threads
            scores = model.scores(held.read(some).astype(np.float32, copy=False))
        yield HeldScores.of(scores, held.labels[part]), numbers[part]


def _calibrate(pending: Sequence[Scored], left_out: NDArray[np.bool_]) -> Calibration:
    """Return the calibration on held-out rows, without those left out if enough others remain."""
    held = [one for one, _ in pending]
    kept = [np.flatnonzero(~left_out[numbers]) for _, numbers in pending]
    if sum(len(rows) for rows in kept) >= LEAST_ROWS:  # else all rows are needed
        held = [one.select(rows) for one, rows in zip(held, kept, strict=True)]
    calibration = calibrate(HeldScores.concatenate(held), "cross-fitted") if held else None
    if calibration is None:
        n_held = sum(len(one) for one in held)
        raise InputError(
            f"Labels cannot be checked: {n_held} rows can be held out, {LEAST_ROWS} are needed."
        )
    return calibration
