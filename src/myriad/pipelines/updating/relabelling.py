"""Models with fewer labels: classes that are left out, and classes that become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.arrays import Ints
from myriad.errors import InputError
from myriad.measures import measure
from myriad.models import (
    Calibration,
    ClassPictures,
    HeldScores,
    LabelCalibration,
    ModelFolder,
    calibrate,
    load_held_scores,
    load_model,
    load_pictures,
    save_model,
)
from myriad.models.calibration.held_classes import rank_held, relabel_held
from myriad.models.calibration.novelty import Novelty
from myriad.models.class_weights import find_classes
from myriad.pipelines.evidence.documentation import write_card
from myriad.pipelines.outputs import check_model_output, locks_output, refuse_input
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.signatures import name_samples


@dataclass(frozen=True)
class Relabelled:
    """A model folder with other labels.

    Attributes
    ----------
    model, source : the new folder and the old one.
    changed : the labels that were left out or merged.
    into : the name of the merged class; None if labels were left out.
    """

    model: Path
    source: Path
    class_names: list[str]
    changed: list[str]
    into: str | None
    calibration: Calibration | LabelCalibration | None

    def to_json(self) -> dict[str, Any]:
        """Return what ``forget`` and ``merge`` print."""
        return {
            "model": str(self.model),
            "made_from": str(self.source),
            "classes": len(self.class_names),
            "labels": self.changed,
            "calibration": self.calibration and self.calibration.to_json(),
        }


@locks_output()
def forget(
    model: Path,
    labels: Sequence[str],
    out: Path,
    *,
    run: Run = DEFAULT_RUN,
) -> Relabelled:
    """Save a model without some of its classes; the weights of the others do not change."""
    folder = load_model(model)
    dropped = find_classes(labels, folder.class_names, str(model))
    if len(set(dropped)) < len(dropped):
        raise InputError("A label is named twice.")
    kept = np.setdiff1d(np.arange(len(folder.class_names)), dropped)
    if len(kept) < 2:
        raise InputError(
            f"{model} has {len(folder.class_names)} classes: at least two of them must be left."
        )
    numbers = np.full(len(folder.class_names), -1, np.int32)
    numbers[kept] = np.arange(len(kept))
    names = [folder.class_names[c] for c in kept]
    change = {"forgotten_classes": len(labels)}  # their names are forgotten too
    calibration = _save(folder, model, out, numbers, names, change, run)
    return Relabelled(out, model, names, list(labels), None, calibration)


@locks_output()
def merge(
    model: Path,
    labels: Sequence[str],
    into: str,
    out: Path,
    *,
    run: Run = DEFAULT_RUN,
) -> Relabelled:
    """Save a model in which some labels are one; its score is the highest of theirs.

    Parameters
    ----------
    into : the name of the merged class: one of `labels`, or a new one.
    """
    folder = load_model(model)
    merged = sorted(set(find_classes(labels, folder.class_names, str(model))))
    if len(merged) < 2:
        raise InputError("At least two different labels are needed to merge them.")
    if not into.strip():
        raise InputError("--into must be the name of a class.")
    if into in folder.class_names and folder.class_names.index(into) not in merged:
        raise InputError(
            f"--into {into!r} is another class of the model: name it as well to merge it, or use "
            "another name."
        )
    if len(merged) == len(folder.class_names):
        raise InputError(f"{model} would have a single class: at least two are needed.")
    others = np.setdiff1d(np.arange(len(folder.class_names)), merged[1:])
    numbers = np.full(len(folder.class_names), -1, np.int32)
    numbers[others] = np.arange(len(others))
    numbers[merged] = numbers[merged[0]]
    names = [into if c == merged[0] else folder.class_names[c] for c in others]
    change = {"merged": list(labels), "into": into}
    calibration = _save(folder, model, out, numbers, names, change, run)
    return Relabelled(out, model, names, list(labels), into, calibration)


def _save(
    folder: ModelFolder,
    model: Path,
    out: Path,
    numbers: Ints,
    names: list[str],
    change: dict[str, Any],
    run: Run,
) -> Calibration | LabelCalibration | None:
    """Save a model whose classes have other numbers; see `Model.relabelled`."""
    refuse_input(out, option="--out", inputs=[model])
    check_model_output(out, overwrite=run.overwrite, resume=False)
    changed = folder.model.relabelled(numbers)
    held = load_held_scores(model, len(folder.class_names))
    held, calibration = _calibrate(folder, held, numbers, len(names))
    settings = {**folder.settings, **change}
    source = {"changed_from": folder.trained_from, **change}
    contents = replace(
        folder,
        model=changed,
        class_names=names,
        settings=settings,
        trained_from=source,
        calibration=calibration,
        label_calibration=_select_labels(folder.label_calibration, numbers),
    )
    nothing = np.zeros(0, np.int32)
    ranks, truths = (nothing, nothing) if held is None else (rank_held(held), held.labels)
    measures = measure(ranks, truths, n_classes=len(names))
    card = write_card(
        out.name or out.resolve().name, measures, settings, reads=name_samples(folder.recipe)
    )
    out.mkdir(parents=True, exist_ok=True)
    pictures = load_pictures(model, folder.class_names)
    if pictures is not None:
        firsts = [int(np.flatnonzero(numbers == c)[0]) for c in range(len(names))]
        pictures = ClassPictures.of([pictures.read(c) for c in firsts])
    save_model(out, contents, card=card, held_scores=held, pictures=pictures)
    return calibration or contents.label_calibration


def _select_labels(before: LabelCalibration | None, numbers: Ints) -> LabelCalibration | None:
    """Return the calibration of the labels that are left; None if some were merged.

    It is not known which held-out rows have two labels.
    """
    left = np.flatnonzero(numbers >= 0)
    merged = len(np.unique(numbers[left])) < len(left)
    return None if before is None or merged else before.select(left)


def _calibrate(
    folder: ModelFolder, held: HeldScores | None, numbers: Ints, n_classes: int
) -> tuple[HeldScores | None, Calibration | None]:
    """Return the held-out scores of the remaining labels, and the calibration from them."""
    before = folder.calibration
    if before is None or held is None:
        return None, None
    held = relabel_held(held, numbers)
    found = calibrate(held, before.source, miss_ratio=before.miss_ratio)
    if found is None:
        return None, None
    novelty = before.novelty and _merge_points(before.novelty, numbers, n_classes)
    return held, replace(found, novelty=novelty)


def _merge_points(novelty: Novelty, numbers: Ints, n_classes: int) -> Novelty:
    """Return a novelty score with the means of the labels that are left.

    A merged label has the mean of the means of its classes.
    """
    points = np.full((n_classes, novelty.points.shape[1]), np.nan, np.float32)
    for c in range(n_classes):
        own = novelty.points[numbers == c]
        own = own[~np.isnan(own).any(axis=1)]
        if len(own):
            points[c] = own.mean(axis=0)
    return replace(novelty, points=points)
