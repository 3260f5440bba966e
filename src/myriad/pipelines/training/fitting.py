"""Training on a store: search, validation, calibration, and training again on all rows."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from myriad.errors import InputError
from myriad.measures import Measures, measure
from myriad.models import ModelFolder, make_plain
from myriad.pipelines.checking.labels import list_suspects
from myriad.pipelines.evidence.documentation import Scored
from myriad.pipelines.predicting.decision_options import DecisionOptions
from myriad.pipelines.predicting.scoring import Evaluator
from myriad.pipelines.run import Run
from myriad.pipelines.workers import note_unused
from myriad.progress import Progress
from myriad.store import Rows, Store, check_scale
from myriad.training import Checkpoint, Context, Fitted, Method
from myriad.training.calibrating import add_calibration, exclude, split_calibration_rows
from myriad.training.engine.gram import RowProducts


def fit_store(
    store: Store, method: Method, context: Context, *, state: Path | None = None
) -> tuple[Fitted, Scored, Measures]:
    """Train on a store; return the final model, and the scored validation rows.

    They are scored before the model is trained once more on validation rows too.

    Parameters
    ----------
    context : threads, progress and workers.
    state : a folder for checkpoints, from which an interrupted training resumes.
    """
    context = replace(context, products=RowProducts())
    progress = context.progress
    n_classes = len(store.class_names)
    train_rows, calibration_rows = split_calibration_rows(store.rows("train"), method)
    val_rows = store.rows("val") if "val" in store.split_names else None
    check_rows(train_rows, store, progress)
    if val_rows is None:
        unsearched = method.is_open and method.needs_held_out(train_rows, n_classes)
        what = "accuracy is not measured" + ", and settings are not searched" * unsearched
        progress.note(f"No validation {store.noun}s: {what}.")
    note_unused(context, method)
    first = replace(context, checkpoint=checkpoint_in(state, "first", method, store))
    fitted = method.fit(train_rows, val_rows, n_classes=n_classes, context=first)
    crossed = fitted.held_scores
    fitted = add_calibration(fitted, method, train_rows, val_rows, calibration_rows, progress)
    suspects = list_suspects(fitted, crossed, train_rows, val_rows)
    if val_rows is None:
        nothing = np.zeros(0, np.int32)
        return (
            fitted,
            Scored(nothing, nothing, nothing, [], suspects=suspects),
            measure(nothing, nothing, n_classes=n_classes),
        )
    began = time.perf_counter()
    plain = make_plain(fitted.model, store.code)
    folder = ModelFolder(
        plain, store.class_names, None, {}, label_calibration=fitted.label_calibration
    )
    evaluator = Evaluator(
        folder, DecisionOptions(), run=Run(threads=context.threads, progress=progress)
    )
    scored, truths = evaluator.score_store(store, "val")
    validation = measure(
        scored.ranks,
        truths,
        n_classes=n_classes,
        seconds=time.perf_counter() - began,
        precisions=scored.precisions,
    )
    if "val" in store.trained_splits:
        again = method.settled(fitted)
        refitted = again.fit(
            exclude(store.rows(store.trained_splits), calibration_rows),
            None,
            n_classes=n_classes,
            context=replace(context, checkpoint=checkpoint_in(state, "again", again, store)),
        )
        fitted = refitted.with_search_of(fitted)
    return fitted, replace(scored, suspects=suspects), validation


def check_rows(rows: Rows, store: Store, progress: Progress) -> None:
    """Raise `InputError` unless rows of a store can be trained on; note classes without rows.

    There must be two classes at least, and no values whose products overflow float32.
    """
    check_scale(rows)
    n_classes, n_present = len(store.class_names), len(np.unique(rows.labels))
    if n_present < 2:
        raise InputError(f"{store.path}: at least two classes are needed to train.")
    if n_present < n_classes:
        progress.note(
            f"Classes without training {store.noun}s, which cannot be predicted: "
            f"{n_classes - n_present} of {n_classes}."
        )


def checkpoint_in(
    folder: Path | None, name: str, method: Method, store: Store
) -> Checkpoint | None:
    """Return the checkpoint of one training on a store, if there is a folder for it."""
    if folder is None:
        return None
    key = {"method": repr(method), "store": store.fingerprint}
    return Checkpoint(folder / f"{name}.safetensors", key)
