"""Extend a model with new classes, without the old images."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.files import dump_json, read_json
from myriad.images import find_images
from myriad.measures import Measures, measure
from myriad.models import (
    Calibration,
    ClassPictures,
    CodedModel,
    LinearModel,
    Model,
    ModelFolder,
    load_model,
    load_pictures,
    save_model,
)
from myriad.models.calibration.held_classes import rank_held
from myriad.pipelines.describing.extract import extract
from myriad.pipelines.evidence.calibration import describe_calibration
from myriad.pipelines.evidence.documentation import (
    Scored,
    gather_evidence,
    gather_pictures,
    write_card,
)
from myriad.pipelines.outputs import check_model_output, locks_output, refuse_input, store_beside
from myriad.pipelines.predicting.scoring import match_store
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.training.train import EVIDENCE, sample_paths
from myriad.pipelines.updating.extension_training import (
    ExtensionResult,
    ExtensionTask,
    find_present,
    require_novelty,
)
from myriad.serialisation import size_of
from myriad.signatures import name_samples
from myriad.store import Store, is_store
from myriad.training import Context
from myriad.training.engine.gram import RowProducts

OUTDATED = ("cross_validation", "runner_up")
"""Settings that describe the accuracy of the old model."""


@dataclass(frozen=True)
class Extended:
    """An extended model, with its rows and accuracy.

    Attributes
    ----------
    model, source : the new model folder and the old one.
    store : the new rows.
    growth, found : the rows, and the model that was made of them.
    held_out : how rows were ranked by weights that were found without them.
    """

    model: Path
    source: Path
    store: Path
    growth: ExtensionTask
    found: ExtensionResult
    held_out: Measures
    settings: dict[str, Any]
    seconds: float
    seconds_training: float

    @property
    def calibration(self) -> Calibration | None:
        """The calibration, which turns scores into probabilities; None if there is none."""
        return self.found.calibration

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``extend`` prints."""
        return {
            "model": str(self.model),
            "extended_from": str(self.source),
            "store": str(self.store),
            "classes": len(self.growth.class_names),
            "added": self.growth.added,
            "updated": [self.growth.class_names[c] for c in self.found.updated],
            "old_rows": "store" if self.growth.from_store else "model",
            "rows": {"new": len(self.growth.new), "old": len(self.growth.old)},
            "held_out": self.held_out.to_json(),
            "calibration": self.calibration and self.calibration.to_json(),
            "settings": self.settings,
            "seconds": round(self.seconds, 3),
            "seconds_training": round(self.seconds_training, 3),
        }


@locks_output(with_store=True)
def extend(
    model: Path,
    data: Path,
    out: Path,
    *,
    old: Sequence[Path] = (),
    update: bool = False,
    run: Run = DEFAULT_RUN,
) -> Extended:
    """Train the classes of `data` that a model lacks beside its own, and save the whole in `out`.

    The weights of the old classes stay exactly the same unless they are updated. Images are
    described by the model's own signature, and their rows kept in a store beside `out`.

    Parameters
    ----------
    data : images in any layout, or a store.
    old : stores of rows of the old classes, such as the one that the model was trained on. Without
        any, pseudo-rows are drawn from the class means that the model stores.
    update : whether old classes are trained again too: all of them with `old`, else those that
        have new rows.
    """
    began = time.perf_counter()
    folder = load_model(model)
    check_growable(folder.model)
    if folder.label_calibration is not None:
        raise InputError(f"{model} is a multi-label model, to which no classes can be added.")
    rows_path = None if is_store(data) else store_beside(out)
    refuse_input(out, option="--out", inputs=[model])
    check_model_output(out, overwrite=run.overwrite, resume=run.resume, store=rows_path)
    stores = [Store.open(path) for path in old]
    for one in stores:
        match_store(folder, one)  # before images are described
    if rows_path is None:
        store = Store.open(data)
        check_added(find_present(store), folder, model, data, update=update)
    elif folder.recipe is None:
        raise InputError(
            f"{model} was trained on rows, so {data} must be a store of rows: make one with "
            "myriad import."
        )
    else:
        check_added(find_images(data).class_names, folder, model, data, update=update)
        if not stores:
            require_novelty(folder, model)
        store = extract(
            data,
            rows_path,
            recipe=folder.recipe,
            splits=("train", "val"),
            run=run,
        ).store
    task = ExtensionTask.of(
        folder, model, store, stores, update=update, seed=run.seed, progress=run.progress
    )
    training = time.perf_counter()
    context = Context(threads=run.threads, progress=run.progress, products=RowProducts())
    found = task.train(context)
    seconds_training = time.perf_counter() - training
    names = task.class_names
    kept = {name: folder.settings[name] for name in folder.settings if name not in OUTDATED}
    settings = {**kept, **found.settings, "extended_from": model.name}
    held_out = measure_held(found)
    recorded = read_json(model / EVIDENCE) if (model / EVIDENCE).is_file() else None
    evidence = _gather(task, found, held_out, settings, recorded, title=out.name, data=data)
    out.mkdir(parents=True, exist_ok=True)
    pictures = None
    if folder.recipe is not None:
        before = load_pictures(model, folder.class_names)
        fresh = gather_pictures(evidence, threads=run.threads)
        pictures = ClassPictures.of(
            [
                before.read(c) if before and c < len(folder.class_names) else fresh.read(c)
                for c in range(len(names))
            ]
        )
    facts = {"new classes": len(task.added), "rows of new classes": len(task.new), **settings}
    name = out.name or out.resolve().name
    card = write_card(name, held_out, facts, reads=name_samples(folder.recipe))
    contents = ModelFolder(
        found.model, names, folder.recipe, settings, task.describe_source(), found.calibration
    )
    save_model(
        out,
        contents,
        card=card,
        texts={EVIDENCE: dump_json(evidence)},
        held_scores=found.held_scores,
        pictures=pictures,
    )
    return Extended(
        out,
        model,
        store.path,
        task,
        found,
        held_out,
        settings,
        time.perf_counter() - began,
        seconds_training,
    )


def check_added(
    names: Iterable[str], folder: ModelFolder, model: Path, data: Path, *, update: bool
) -> None:
    """Raise `InputError` if data have no class to add to a model, and none is to be updated."""
    if not update and set(names) <= set(folder.class_names):
        raise InputError(
            f"{data} has no class that {model} lacks. Use --update to train the classes that it "
            "has again."
        )


def check_growable(model: Model) -> None:
    """Raise `InputError` unless classes can be added to a model."""
    learned = model.model if isinstance(model, CodedModel) else model
    nothing = LinearModel(np.zeros((1, learned.dim), np.float32), np.zeros(1, np.float32))
    model.with_classes(nothing)


def measure_held(found: ExtensionResult) -> Measures:
    """Return the accuracy on held-out rows, which may be none."""
    held, nothing = found.held_scores, np.zeros(0, np.int32)
    if held is None:
        return measure(nothing, nothing, n_classes=found.model.n_classes)
    return measure(rank_held(held), held.labels, n_classes=found.model.n_classes)


def _gather(
    task: ExtensionTask,
    found: ExtensionResult,
    held_out: Measures,
    settings: dict[str, Any],
    before: dict[str, Any] | None,
    *,
    title: str,
    data: Path,
) -> dict[str, Any]:
    """Return the evidence of the report; the images of held-out rows are not known.

    Parameters
    ----------
    before : the evidence of the old model; None if it has none.
    """
    held, nothing = found.held_scores, np.zeros(0, np.int32)
    scored = Scored(nothing, nothing, nothing, [])
    if held is not None:
        scored = Scored(held.labels, held.classes[:, 0], rank_held(held), [""] * len(held))
    rows = (task.old, task.new) if task.from_store else (task.new,)
    labels = np.concatenate([part.labels for part in rows])
    names = task.class_names
    counts = np.bincount(labels, minlength=len(names))
    samples = sample_paths(labels, [path for part in rows for path in part.paths])
    if not task.from_store:  # what the old model was trained on
        for c, record in enumerate(before["classes"] if before else ()):
            counts[c] += record["train"] or 0
            samples.setdefault(c, record["sample"] or "")
    return gather_evidence(
        scored,
        held_out,
        title=title,
        split="held-out",
        noun="row",
        class_names=names,
        train_counts=counts if task.from_store or before else None,
        train_samples=samples,
        settings=settings,
        data=str(data),
        model_bytes=size_of(found.model),
        calibration=describe_calibration(found.calibration, len(names)),
    )
