"""The calibration of a trained model: which rows calibrate, and how they are scored.

Rows that calibrate must not be rows that trained. By default they are rows that are held out in any
case: those of cross-validation, or validation rows. Rows kept back for this purpose alone make the
coverage of prediction sets exact, at the price of fewer rows to train on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from myriad.arrays import Float
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import Calibration, HeldScores, Model, calibrate, calibrate_labels
from myriad.models.calibration.classes import LEAST_ROWS
from myriad.models.calibration.held_scores import MOST_ROWS
from myriad.models.calibration.labels import MOST_SCORES
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.progress import Progress
from myriad.randomness import generator
from myriad.store import Rows, StoreRows
from myriad.training.method import Fitted, Method
from myriad.training.novelty import learn_novelty
from myriad.training.validation import count_block_rows, cut_ranges

SomeRows = TypeVar("SomeRows", bound=Rows)
KEPT_BACK = 0.2
"""Fraction of the training rows that ``split`` keeps back, as far as `MOST_ROWS` are not more."""
ENOUGH_VALIDATION = 1000
"""Validation rows from which on they calibrate, though there are cross-fitted scores: the model
that scores them was trained on nearly all rows."""


def split_calibration_rows(rows: SomeRows, method: Method) -> tuple[SomeRows, SomeRows | None]:
    """Return the rows to train on, and those for calibration alone; None for none.

    They are drawn without regard to their classes: the coverage of prediction sets is exact only if
    calibration rows are drawn as the rows to be predicted are. Groups of rows are not divided.
    """
    if method.calibration != "split":
        return rows, None
    known = np.flatnonzero(rows.labels >= 0)
    size = min(int(KEPT_BACK * len(known)), MOST_ROWS)
    if size < LEAST_ROWS:
        raise InputError(
            f"--calibration split keeps back a fifth of the training rows, and needs at least "
            f"{LEAST_ROWS} of them: {len(known)} rows are too few. Leave it out."
        )
    draws = generator(method.seed, "calibration rows")
    drawn = draws.permutation(known)[:size]
    if rows.groups is not None:
        groups = np.where(rows.groups < 0, -2 - np.arange(rows.n_rows), rows.groups)[known]
        _, members = np.unique(groups, return_inverse=True)
        order = draws.permutation(int(members.max()) + 1)
        fits = np.cumsum(np.bincount(members)[order]) <= size
        drawn = known[np.isin(members, order[fits])]
    kept = np.setdiff1d(np.arange(rows.n_rows), drawn)
    return cast(SomeRows, rows.select(kept)), cast(SomeRows, rows.select(np.sort(drawn)))


def exclude(rows: StoreRows, others: StoreRows | None) -> StoreRows:
    """Return the rows of a store that are not among others of the same store."""
    if others is None:
        return rows
    return rows.select(np.flatnonzero(~np.isin(rows.chosen, others.chosen)))


def score_held(model: Model, rows: Rows) -> HeldScores | None:
    """Return the scores of rows that a model was not trained on; None if no row has one label."""
    if rows.sets is not None:
        return None
    known = np.flatnonzero(rows.labels >= 0)[:MOST_ROWS]
    if len(known) == 0:
        return None
    held, parts = rows.select(known), []
    for some in cut_ranges(held, count_block_rows(held.dim, model.n_classes)):
        scores = model.scores(held.read(some).astype(np.float32, copy=False))
        parts.append(HeldScores.of(scores, held.labels[some.start : some.stop]))
    return HeldScores.concatenate(parts)


def score_labels(model: Model, rows: Rows) -> tuple[Float, LabelSets]:
    """Return the scores of rows with several labels each, (n_rows, n_classes), and the labels."""
    assert rows.sets is not None
    most = min(MOST_ROWS, max(2 * LEAST_ROWS, MOST_SCORES // model.n_classes))
    held = rows.select(np.arange(min(rows.n_rows, most)))
    assert held.sets is not None
    scores = np.empty((held.n_rows, model.n_classes), np.float32)
    for some in cut_ranges(held, count_block_rows(held.dim, model.n_classes)):
        block = held.read(some).astype(np.float32, copy=False)
        scores[some.start : some.stop] = model.scores(block)
    return scores, held.sets


def add_calibration(
    fitted: Fitted,
    method: Method,
    train: Rows,
    val: Rows | None,
    calibration_rows: Rows | None,
    progress: Progress,
) -> Fitted:
    """Return a trained model with its calibration, if there are rows for it.

    To be called before the model is trained again on all rows.

    Parameters
    ----------
    train : the rows that were trained on.
    val : rows that settings and epochs were chosen by, but that were not trained on.
    calibration_rows : rows for calibration alone; see `split_calibration_rows`.
    """
    if method.calibration == "none":
        return fitted
    with hold_blas_to_one_thread():  # the bits must not depend on the number of threads
        return _add_calibration(fitted, method, train, val, calibration_rows, progress)


def _add_calibration(
    fitted: Fitted,
    method: Method,
    train: Rows,
    val: Rows | None,
    calibration_rows: Rows | None,
    progress: Progress,
) -> Fitted:
    if train.sets is not None:
        return _calibrate_labels(fitted, val, calibration_rows, progress)
    held, source, miss_ratio = fitted.held_scores, "cross-fitted", fitted.miss_ratio
    if calibration_rows is not None:
        held, source, miss_ratio = score_held(fitted.model, calibration_rows), "split", 1.0
    elif val is not None and (held is None or val.n_rows >= ENOUGH_VALIDATION):
        held, source, miss_ratio = score_held(fitted.model, val), "validation", 1.0
    found: Calibration | None = None
    if held is not None:
        found = calibrate(held, source, miss_ratio=miss_ratio)
        if found is None:
            _note_too_few(len(held), progress)
        else:
            standing = found.standardise(held.scores[:, 0])
            novelty = learn_novelty(
                train, fitted.model.n_classes, held.labels, standing, seed=method.seed
            )
            found = replace(found, novelty=novelty)
    return replace(fitted, calibration=found, held_scores=held)


def _calibrate_labels(
    fitted: Fitted, val: Rows | None, calibration_rows: Rows | None, progress: Progress
) -> Fitted:
    rows, source = (val, "validation") if calibration_rows is None else (calibration_rows, "split")
    if rows is None:
        return fitted
    found = calibrate_labels(*score_labels(fitted.model, rows), source)
    if found is None:
        _note_too_few(rows.n_rows, progress)
    return replace(fitted, label_calibration=found)


def _note_too_few(n_rows: int, progress: Progress) -> None:
    progress.note(
        f"The model has no probabilities: to calibrate them, at least {LEAST_ROWS} held-out rows "
        f"are needed, and there are {n_rows}. Train on more images or rows to get them."
    )
