"""A model's accuracy on images or on the rows of a store."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import BadImage, ImageList, find_images
from myriad.measures import Measures, measure
from myriad.models import CodedModel, Model, ModelFolder, load_model, match_rows
from myriad.parallel import pool
from myriad.parts import fingerprint
from myriad.pipelines.describing import BadImages, describe_images, signature_of
from myriad.pipelines.evidence import Scored
from myriad.progress import SILENT, Advance, Progress
from myriad.store import Store, is_store

BATCH = 64
"""Rows scored by one product."""


@dataclass(frozen=True)
class Evaluated:
    """Accuracies, and the rows they come from."""

    measures: Measures
    scored: Scored
    split: str
    bad: list[dict[str, str]]

    def to_json(self) -> dict[str, Any]:
        """Return what ``evaluate`` prints."""
        return self.measures.to_json() | {"split": self.split}


def evaluate(
    model: Path,
    data: Path,
    *,
    split: str | None = None,
    plain: bool = False,
    max_bad: float = 0.05,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Evaluated:
    """Measure the model in folder `model` on `data`: images in any layout, or a store.

    Parameters
    ----------
    split : the part to use; by default ``test`` where the data has one, else all of it.
    plain : whether a model of coded rows is to score plain rows without coding them.
    """
    began = time.perf_counter()
    folder = load_model(model)
    if plain and isinstance(folder.model, CodedModel):
        folder = replace(folder, model=replace(folder.model, rounded=False))
    if is_store(data):
        store = Store.open(data)
        split = choose_split(store.splits, split, data)
        if split == "all" and "train" in store.splits:
            progress.note("All rows are scored, training rows among them; see --split.")
        scored, truths = score_store(folder, store, split, threads=threads, progress=progress)
        bad: list[dict[str, str]] = []
    else:
        images = find_images(data)
        split = choose_split(images.splits, split, data)
        if split != "all":
            images = images.select(images.splits == split)
        scored, truths, bad = score_images(
            folder, images, max_bad=max_bad, threads=threads, progress=progress
        )
    seconds = time.perf_counter() - began
    n_classes = len(folder.class_names)
    measures = measure(scored.ranks, truths, n_classes=n_classes, bad=len(bad), seconds=seconds)
    return Evaluated(measures, scored, split, bad)


def choose_split(splits: NDArray[Any], wanted: str | None, data: Path) -> str:
    """Return the part to evaluate: the one asked for, else ``test`` if there is one, else all."""
    present = set(splits.tolist())
    if wanted is None:
        return "test" if "test" in present else "all"
    if wanted != "all" and wanted not in present:
        stated = ", ".join(sorted(present - {""})) or "none"
        raise InputError(f"{data} has no images for --split {wanted}; parts it states: {stated}.")
    return wanted


def score_images(
    folder: ModelFolder,
    images: ImageList,
    *,
    max_bad: float,
    threads: int | None,
    progress: Progress,
) -> tuple[Scored, NDArray[np.int32], list[dict[str, str]]]:
    """Describe and rank images; return them, their true classes by number, and the bad ones."""
    signature = signature_of(folder)
    bad = BadImages(len(images), max_bad)
    known, truths = match_classes(images.class_names, folder.class_names, images.labels)
    kept: list[int] = []

    def rows(advance: Advance) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        batch: list[NDArray[np.float32]] = []
        with pool(threads) as executor:
            described = describe_images(images, range(len(images)), signature, executor)
            for i, row in described:
                advance(1)
                if isinstance(row, BadImage):
                    bad.add(images.locate(i), row.reason)
                    continue
                kept.append(i)
                batch.append(row)
                if len(batch) == BATCH:
                    yield np.stack(batch), known[kept[-BATCH:]]
                    batch = []
            if batch:
                yield np.stack(batch), known[kept[-len(batch) :]]

    with progress.step("Scoring images", len(images), "images") as advance:
        ranks, guesses = rank_batches(folder.model, rows(advance))
    paths = [images.locate(i) for i in kept]
    return Scored(known[kept], guesses, ranks, paths), truths[kept], bad.found


def score_store(
    folder: ModelFolder, store: Store, split: str, *, threads: int | None, progress: Progress
) -> tuple[Scored, NDArray[np.int32]]:
    """Rank the rows of a store; return them and their true classes by number."""
    dim = store.dim if store.code is None else store.code.dim
    if dim != folder.model.dim:
        raise InputError(
            f"The rows of {store.path} have {dim} features, the model takes "
            f"{folder.model.dim}: they were made by another recipe."
        )
    recipes = (folder.recipe, store.recipe)
    if None not in recipes and len({fingerprint(recipe) for recipe in recipes if recipe}) > 1:
        raise InputError(
            f"The rows of {store.path} were made with another vocabulary than the model's, so its "
            "scores would mean nothing. Evaluate on the images themselves."
        )
    model, prepare = match_rows(folder.model, store.code, str(store.path))
    rows = store.rows(None if split == "all" else split)
    known, truths = match_classes(store.class_names, folder.class_names, rows.labels)

    def batches(advance: Advance) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        for block in rows.blocks(max(BATCH, min(1024, (32 << 20) // (4 * rows.dim)))):
            advance(len(block.X))
            yield prepare(block.X), known[block.index]

    with progress.step("Scoring rows", rows.n_rows, "rows") as advance, pool(threads):
        ranks, guesses = rank_batches(model, batches(advance))
    return Scored(known, guesses, ranks, rows.paths), truths


def rank_batches(
    model: Model, batches: Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rank of the truth and the best class of every row."""
    judged = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    judged += [model.judge(X, labels) for X, labels in batches]
    ranks, guesses = zip(*judged, strict=True)
    return np.concatenate(ranks), np.concatenate(guesses)


def match_classes(
    data_names: Sequence[str], model_names: Sequence[str], labels: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the labels twice, as numbers of the model's classes.

    In the first array classes that the model does not know are -1; in the second they have numbers
    of their own, so that the mean over classes can count each of them.
    """
    number = {name: c for c, name in enumerate(model_names)}
    known = np.array([number.get(name, -1) for name in data_names] + [-1], np.int32)
    own = np.array([number.get(name, len(number) + i) for i, name in enumerate(data_names)] + [-1])
    return known[labels], own.astype(np.int32)[labels]
