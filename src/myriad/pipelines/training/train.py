"""From images or a store to a model folder: extract, search, train, validate, save."""

from __future__ import annotations

import shutil
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.files import dump_json, read_json
from myriad.images.corrections import correct_labels, read_corrections
from myriad.measures import Measures
from myriad.models import ClassPictures, Model, ModelFolder, load_model, make_plain, save_model
from myriad.pipelines.compiling import compiling_ahead, wait_for_kernels
from myriad.pipelines.describing.extract import ExtractOptions, extract, open_given_store
from myriad.pipelines.evidence.calibration import describe_calibration
from myriad.pipelines.evidence.documentation import (
    Scored,
    gather_evidence,
    gather_pictures,
    write_card,
)
from myriad.pipelines.evidence.labels import describe_labels
from myriad.pipelines.evidence.neighbourhoods import describe_embedding
from myriad.pipelines.evidence.signature_parts import share_margins
from myriad.pipelines.outputs import (
    check_model_output,
    locks_output,
    store_beside,
    training_beside,
)
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.training.fitting import fit_store
from myriad.pipelines.training.replacement import Replacement, describe_source
from myriad.pipelines.workers import check_memory, connected, open_context
from myriad.serialisation import size_of
from myriad.store import Store, is_store
from myriad.training import Automatic, Fitted, Method

EVIDENCE = "evidence.json"
"""File in the model folder with the data of the report."""


@dataclass(frozen=True)
class Trained:
    """A model folder, the store it was trained on, and its validation accuracy."""

    model: Path
    store: Store
    fitted: Fitted
    validation: Measures
    settings: dict[str, Any]
    evidence: dict[str, Any]
    seconds: float
    seconds_training: float

    @property
    def model_bytes(self) -> int:
        """The size of the classifier's arrays, without the networks and vocabularies beside it."""
        return size_of(self.fitted.model)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``train`` prints."""
        calibration = self.fitted.calibration or self.fitted.label_calibration
        return {
            "model": str(self.model),
            "store": str(self.store.path),
            "seconds": round(self.seconds, 3),
            "seconds_training": round(self.seconds_training, 3),
            "epochs": self.fitted.epochs,
            "settings": self.settings,
            "calibration": calibration and calibration.to_json(),
            "validation": self.validation.to_json(),
        }


@locks_output(with_store=True)
def train(
    data: Path,
    out: Path,
    *,
    store: Path | None = None,
    extracting: ExtractOptions | None = None,
    method: Method | None = None,
    corrections: Path | None = None,
    memory: int | None = None,
    run: Run = DEFAULT_RUN,
) -> Trained:
    """Train a model on `data`, images in any layout or a store, and save it in the folder `out`.

    Rows made from images are kept in the store `store`, by default beside `out`; a run that is
    interrupted resumes from there. Settings and epochs are found on validation rows; then, unless
    the user set those rows apart or there are plenty, the model is trained once more on all rows.

    Parameters
    ----------
    corrections : a CSV file with the right labels of some images, as ``check --labels`` writes it.
    memory : bytes that training may take; larger weights are trained one class shard at a time.
    run : its seed is replaced by that of `method`.
    """
    began = time.perf_counter()
    asked = method or Automatic()
    check_memory(memory)
    method = asked if memory is None else asked.with_memory(memory // 2)
    run = replace(run, seed=method.seed)
    rows = open_given_store(data, extracting, run.progress) if is_store(data) else None
    if rows is not None and corrections is not None:
        if run.cluster is not None or memory is not None:
            raise InputError(
                "--corrections of a store cannot be combined with --cluster or --memory, whose "
                "workers read the labels of the store. Correct the images instead."
            )
        rows = correct_store(rows, corrections)
    store = None if rows is not None else store or store_beside(out)
    check_model_output(out, overwrite=run.overwrite, resume=run.resume, store=store)
    state = training_beside(out)
    replacement = Replacement(
        out, state, rows or data, asked, overwrite=run.overwrite, resume=run.resume
    )
    if rows is not None:
        replacement.check(rows)
    elif store is not None and run.resume:
        replacement.check_store(store)
    if not run.resume:
        shutil.rmtree(state, ignore_errors=True)
    automatic = store is not None and method.objective == "auto"
    ahead = compiling_ahead(run.threads) if automatic else nullcontext()
    with ahead, replacement.marked(), connected(run) as run:
        if store is not None:
            rows = extract(
                data,
                store,
                options=extracting,
                splits=("train", "val"),
                training=True,
                corrections=corrections,
                run=run,
            ).store
            replacement.check(rows)
        assert rows is not None
        out.mkdir(parents=True, exist_ok=True)  # an error here comes before the training
        wait_for_kernels()
        training = time.perf_counter()
        with open_context(run, state / "pieces", memory=memory) as context:
            fitted, scored, validation = fit_store(rows, method, context, state=state)
    seconds_training = time.perf_counter() - training
    settings = {
        "objective": method.objective,
        **fitted.settings,
        "seed": method.seed,
        **describe_signature(rows),
        **describe_parts(fitted.model, rows),
    }
    evidence = _gather(rows, fitted, scored, validation, settings, title=out.name, data=data)
    trained = Trained(out, rows, fitted, validation, settings, evidence, 0.0, seconds_training)
    pictures = None if rows.recipe is None else gather_pictures(evidence, threads=run.threads)
    _save(trained, describe_source(rows, asked), pictures)
    shutil.rmtree(state, ignore_errors=True)
    return replace(trained, seconds=time.perf_counter() - began)


def correct_store(store: Store, path: Path) -> Store:
    """Return a store with the labels that a file of corrections states."""
    numbers = {name: number for number, name in enumerate(store.paths)}
    corrections = read_corrections(path)
    labels, kept = correct_labels(corrections, numbers, store.labels, store.class_names)
    return store.relabelled(labels, kept)


def describe_signature(store: Store) -> dict[str, Any]:
    """Return which signature the rows of a store have and how it was chosen, plain JSON."""
    if store.recipe is None:
        return {}
    facts = {"signature": str(store.plan.get("signature", store.recipe.kind))}
    choice = store.plan.get("choice")
    return facts | ({"signature_choice": choice} if isinstance(choice, dict) else {})


def describe_extraction(store: Store) -> dict[str, Any]:
    """Return the plan of a store but for the choice of its signature; see `describe_signature`."""
    return {name: value for name, value in store.plan.items() if name != "choice"}


def describe_parts(model: Model, store: Store) -> dict[str, Any]:
    """Return what each of several signatures contributes, plain JSON; nothing for one."""
    shares = share_margins(model, store)
    return {"signature_shares": shares} if shares else {}


def _gather(
    store: Store,
    fitted: Fitted,
    scored: Scored,
    validation: Measures,
    settings: dict[str, Any],
    *,
    title: str,
    data: Path,
) -> dict[str, Any]:
    train_rows = store.rows("train")
    of_row, classes = train_rows.all_labels.pairs()
    paths = train_rows.paths
    counts = np.bincount(classes, minlength=len(store.class_names))
    return gather_evidence(
        scored,
        validation,
        title=title,
        split="validation",
        noun=store.noun,
        class_names=store.class_names,
        train_counts=counts,
        train_samples=sample_paths(classes, [paths[i] for i in of_row]),
        history=fitted.history,
        search=fitted.table,
        settings=settings
        | {
            "epochs": fitted.epochs,
            "features": store.dim,
            "extraction": describe_extraction(store),
        },
        bad=store.bad,
        data=str(data),
        model_bytes=size_of(fitted.model),
        calibration=describe_calibration(fitted.calibration, len(store.class_names)),
        suspects=scored.suspects,
        labels=describe_labels(scored, store.class_names),
        **describe_embedding(fitted.model, store.class_names),
    )


def sample_paths(labels: NDArray[np.int32], paths: list[str]) -> dict[int, str]:
    """Return the first path of each class in alphabetical order: the same one at every run."""
    samples: dict[int, str] = {}
    for label, path in zip(labels.tolist(), paths, strict=True):
        if label not in samples or path < samples[label]:
            samples[label] = path
    return samples


def _save(trained: Trained, source: dict[str, Any], pictures: ClassPictures | None) -> None:
    """Write the model folder; `source` states what the model was trained from."""
    out, store, fitted = trained.model, trained.store, trained.fitted
    facts = {
        "training rows": int(np.isin(store.splits, store.trained_splits).sum()),
        "signature": store.recipe.kind if store.recipe else "none: ready-made rows",
        "features": store.dim,
        "epochs trained": fitted.epochs,
        **trained.settings,
    }
    contents = ModelFolder(
        make_plain(fitted.model, store.code),
        store.class_names,
        store.recipe,
        trained.settings | {"epochs": fitted.epochs},
        source,
        fitted.calibration,
        fitted.label_calibration,
    )
    name, noun = out.name or out.resolve().name, store.noun
    measured = f"validation {noun}s"
    save_model(
        out,
        contents,
        card=write_card(name, trained.validation, facts, reads=noun, measured=measured),
        texts={EVIDENCE: dump_json(trained.evidence)},
        held_scores=fitted.held_scores,
        pictures=pictures,
    )


def read_evidence(model: Path) -> dict[str, Any]:
    """Return what the report of the model in a folder is made from."""
    load_model(model)
    if not (model / EVIDENCE).is_file():
        raise InputError(
            f"{model} has no {EVIDENCE}, so its report cannot be made. Models made by forget and "
            "merge have none; train others again."
        )
    return read_json(model / EVIDENCE)
