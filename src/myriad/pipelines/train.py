"""Images or a store to a model folder: extract, search, train, validate, save."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.files import write_json
from myriad.measures import Measures, measure
from myriad.models import LinearModel, ModelFolder, save_model
from myriad.parallel import pool
from myriad.pipelines.card import write_card
from myriad.pipelines.evaluate import score_store
from myriad.pipelines.evidence import gather_evidence
from myriad.pipelines.extract import ExtractOptions, extract
from myriad.pipelines.outputs import prepare_output
from myriad.progress import SILENT, Progress
from myriad.store import Rows, Store, is_store
from myriad.training import TRAINERS, Fitted, Plan

EVIDENCE = "evidence.json"


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

    def to_json(self) -> dict[str, Any]:
        """Return what ``train`` prints."""
        return {
            "model": str(self.model),
            "store": str(self.store.path),
            "seconds": round(self.seconds, 3),
            "seconds_training": round(self.seconds_training, 3),
            "epochs": self.fitted.epochs,
            "settings": self.settings,
            "validation": self.validation.to_json(),
        }


def train(
    data: Path,
    out: Path,
    *,
    store_path: Path | None = None,
    extracting: ExtractOptions = ExtractOptions(),
    objective: str = "ovr",
    plan: Plan = Plan(),
    seed: int = 0,
    threads: int | None = None,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress = SILENT,
) -> Trained:
    """Train a model on `data`, images in any layout or a store, and save it in the folder `out`.

    Rows made from images are kept in the store `store_path`, by default beside `out`; a training
    that is interrupted goes on from there. Settings and epochs are found on validation rows; then
    the model is trained once more on training and validation rows together, unless the user set
    the validation rows apart.
    """
    began = time.perf_counter()
    if objective not in TRAINERS:
        raise InputError(f"--objective must be one of {', '.join(TRAINERS)}, not {objective!r}.")
    prepare_output(out, overwrite=overwrite, resume=resume)
    if is_store(data):
        store = Store.open(data)
    else:
        store = extract(
            data,
            store_path or out.with_name(f"{out.name}.store"),
            options=extracting,
            parts=("train", "val"),
            seed=seed,
            threads=threads,
            overwrite=overwrite,
            resume=resume,
            progress=progress,
        ).store
    training_began = time.perf_counter()
    plan = replace(plan, seed=seed)
    fitted, folder, scored = _fit(store, objective, plan, threads, progress)
    ...
