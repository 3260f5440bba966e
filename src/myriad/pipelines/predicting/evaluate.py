"""Evaluate a model on images or on the rows of a store."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import ONE_LABEL, ImageList, SeveralLabels, find_images
from myriad.measures import (
    CalibrationMeasures,
    Measures,
    Truths,
    class_confusion,
    measure,
    measure_calibration,
    measure_levels,
    measure_rejection,
    measure_sets,
    sibling_precision,
)
from myriad.models import CodedModel, Hierarchy, ModelFolder, load_model
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.evidence.documentation import Scored
from myriad.pipelines.evidence.labels import describe_labels
from myriad.pipelines.outputs import store_beside
from myriad.pipelines.predicting.decision_options import DecisionOptions, read_hierarchy
from myriad.pipelines.predicting.scoring import Evaluator, StoreScoring
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.progress import Progress
from myriad.store import Store, is_store
from myriad.store.formats import FileRows, is_row_data

SIBLINGS_AT = (1, 5, 10)
"""Numbers of best classes for which the sibling precision is measured [HM, 10]."""


@dataclass(frozen=True)
class Evaluated:
    """Accuracies, and the scored rows that they come from; `noun` is what a row is called."""

    measures: Measures
    scored: Scored
    split: str
    noun: str
    bad: list[dict[str, str]]
    class_names: Sequence[str]
    siblings: Mapping[int, float | None] | None = None
    level_names: tuple[str, ...] = ()

    @property
    def sibling(self) -> float | None:
        """The sibling precision of the best class; None without a hierarchy."""
        return None if self.siblings is None else self.siblings[1]

    @property
    def calibration(self) -> CalibrationMeasures | None:
        """How well the probabilities are calibrated; None if there are none."""
        results = self.scored.results
        if "true" not in results:
            return None
        names = ("true", "squares")
        return measure_calibration(
            results["confidence"], self._correct, *(results[name] for name in names)
        )

    @property
    def sets(self) -> dict[str, Any] | None:
        """Coverage and sizes of prediction sets; None if not requested."""
        results = self.scored.results
        if "covered" not in results:
            return None
        return measure_sets(results["set_sizes"], results["covered"], self.scored.ranks)

    @property
    def rejection(self) -> dict[str, Any] | None:
        """The fraction of rows with an answer, and the precision of these answers."""
        answered = self.scored.results.get("answered")
        return None if answered is None else measure_rejection(answered, self._correct)

    @property
    def levels(self) -> list[dict[str, Any]] | None:
        """Accuracy and answers at each level of a hierarchy."""
        results = self.scored.results
        if "levels" not in results:
            return None
        right = [results[f"level_{number}"] for number in range(len(self.level_names))]
        return measure_levels(self.level_names, right, results["levels"], results["level_right"])

    @property
    def labels(self) -> dict[str, Any] | None:
        """Precision, recall and F1 of assigned labels in multi-label data."""
        return describe_labels(self.scored, self.class_names)

    @property
    def _correct(self) -> NDArray[np.bool_]:
        return self.scored.guesses == self.scored.truths

    @property
    def class_confusion(self) -> float | None:
        """The class-confusion loss in percent; see `measures.class_confusion`."""
        return class_confusion(self.scored.truths, self.scored.guesses)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``evaluate`` prints."""
        return self.measures.to_json() | {
            "split": self.split,
            "class_confusion": self.class_confusion,
            "sibling_top1": self.sibling,
            "sibling_at": None
            if self.siblings is None
            else {str(k): value for k, value in self.siblings.items()},
            "calibration": self.calibration and self.calibration.to_json(),
            "sets": self.sets,
            "rejection": self.rejection,
            "levels": self.levels,
            "labels": self.labels,
        }


def evaluate(
    model: Path,
    data: Path,
    *,
    split: str | None = None,
    plain: bool = False,
    max_bad: float = ExtractOptions.max_bad,
    labels: Sequence[str] = (),
    column: str | None = None,
    deciding: DecisionOptions | None = None,
    several: SeveralLabels = ONE_LABEL,
    run: Run = DEFAULT_RUN,
) -> Evaluated:
    """Measure the model in folder `model` on `data`: images in any layout, a store, or rows.

    Parameters
    ----------
    split : the split to use; by default ``test`` where the data has one, else all of it.
    plain : whether a model of coded rows scores plain rows without encoding them.
    labels, column : where a file of rows has its labels and its rows; see `FileRows.open`.
    deciding : the options of decisions for each row.
    several : how a manifest states several labels of an image.
    run : its cluster describes images, or ranks rows, by scores alone.
    """
    began = time.perf_counter()
    folder = load_model(model)
    if plain and isinstance(folder.model, CodedModel):
        folder = replace(folder, model=replace(folder.model, rounded=False))
    deciding, hierarchy = deciding or DecisionOptions(), None
    if deciding.hierarchy is not None:
        hierarchy = read_hierarchy(Path(deciding.hierarchy), folder.class_names)
        if folder.calibration is None:  # sibling precision needs no probabilities
            deciding = replace(deciding, hierarchy=None)
    deciding.make_decider(folder)  # raises an error early for options that do not fit the model
    n_best = 0 if hierarchy is None else max(SIBLINGS_AT)
    evaluator = Evaluator(folder, deciding, n_best, run)
    of_rows = is_row_data(data) and not is_store(data)
    if (labels or column) and not of_rows:
        raise InputError(f"--labels and --rows are for files of rows, which {data} is not.")
    if several and (of_rows or is_store(data)):
        raise InputError(
            f"--multi-label and --label-separator are for CSV manifests, which {data} is not."
        )
    if of_rows:
        ranked = _rank_row_file(evaluator, data, split, labels, column)
    elif is_store(data):
        ranked = _rank_store(evaluator, model, Store.open(data), split, plain=plain)
    else:
        ranked = _rank_images(evaluator, model, data, split, several, max_bad)
    scored, n_classes = ranked.scored, len(folder.class_names)
    measures = measure(
        scored.ranks,
        ranked.truths,
        n_classes=n_classes,
        bad=len(ranked.bad),
        seconds=time.perf_counter() - began,
        precisions=scored.precisions,
    )
    siblings = None if hierarchy is None else measure_siblings(scored, hierarchy)
    names = () if hierarchy is None else ("label", *(level.name for level in hierarchy.levels))
    return Evaluated(
        measures,
        scored,
        ranked.split,
        ranked.noun,
        ranked.bad,
        folder.class_names,
        siblings,
        names,
    )


@dataclass(frozen=True)
class _Ranked:
    """Ranked images or rows of a split; `truths` has numbers for unknown classes too."""

    scored: Scored
    truths: Truths
    split: str
    noun: str
    bad: list[dict[str, str]] = field(default_factory=list)


def _rank_row_file(
    evaluator: Evaluator, data: Path, split: str | None, labels: Sequence[str], column: str | None
) -> _Ranked:
    if evaluator.run.cluster is not None:
        raise InputError(f"--cluster ranks images and stores: import {data} first.")
    table = FileRows.open([data], labels, column)
    split = choose_split(table.splits, split, data)
    if split != "all":
        table = table.select(np.flatnonzero(table.splits == split))
    scored, truths = evaluator.score_rows(table, table.paths, str(data))
    return _Ranked(scored, truths, split, "row")


def _rank_store(
    evaluator: Evaluator, model: Path, store: Store, split: str | None, *, plain: bool
) -> _Ranked:
    split = choose_split(store.splits, split, store.path)
    if split == "all" and "train" in store.split_names:
        own = store.fingerprint in json.dumps(evaluator.folder.trained_from)
        which = "including those that the model was trained on" if own else "of any split"
        evaluator.run.progress.note(f"All rows are evaluated, {which}; see --split.")
    remote = None
    if evaluator.run.cluster is not None:
        remote = StoreScoring.of(model, store.path, split, plain=plain)
    scored, truths = evaluator.score_store(store, split, remote)
    return _Ranked(scored, truths, split, store.noun)


def _rank_images(
    evaluator: Evaluator,
    model: Path,
    data: Path,
    split: str | None,
    several: SeveralLabels,
    max_bad: float,
) -> _Ranked:
    images = find_images(data, several=several)
    split = choose_split(images.splits, split, data)
    if split != "all":
        images = images.select(images.splits == split)
    _note_known(model, evaluator.folder, images, evaluator.run.progress)
    scored, truths, bad = evaluator.score_images(images, max_bad=max_bad)
    return _Ranked(scored, truths, split, "image", bad)


def measure_siblings(scored: Scored, hierarchy: Hierarchy) -> dict[int, float | None]:
    """Return the sibling precision of the k best classes, by k in `SIBLINGS_AT`."""
    parents = hierarchy.levels[0].members
    best = scored.results.get("best", scored.guesses[:, None])
    return {
        k: sibling_precision(scored.truths, best[:, :k], parents)
        for k in SIBLINGS_AT
        if k <= best.shape[1]
    }


def _note_known(model: Path, folder: ModelFolder, images: ImageList, progress: Progress) -> None:
    """Print a note if images are among those of the store beside the model, by their paths."""
    beside = store_beside(model)
    if not is_store(beside):
        return
    store = Store.open(beside)
    if store.fingerprint not in json.dumps(folder.trained_from):
        return
    used = np.flatnonzero(store.splits != "test")
    known = {os.path.abspath(store.paths[i]) for i in used.tolist()}
    n_known = sum(os.path.abspath(images.locate(i)) in known for i in range(len(images)))
    if n_known:
        progress.note(
            f"{n_known:,} of {len(images):,} images were used in training or validation, so the "
            "accuracy is higher than on new ones."
        )


def choose_split(splits: NDArray[Any], wanted: str | None, data: Path) -> str:
    """Return the split to evaluate: the requested one, else ``test`` if there is one, else all."""
    present = set(splits.tolist())
    if wanted is None:
        return "test" if "test" in present else "all"
    if wanted != "all" and wanted not in present:
        stated = ", ".join(sorted(present - {""})) or "none"
        raise InputError(f"{data} has nothing for --split {wanted}; splits it states: {stated}.")
    return wanted
