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
from myriad.measures import (
    LabelSets,
    Measures,
    Truths,
    average_precisions,
    class_confusion,
    measure,
    number_parents,
    sibling_precision,
)
from myriad.models import CodedModel, Model, ModelFolder, load_model, match_rows
from myriad.parallel import open_cluster, thread_executor
from myriad.pipelines.describing import BadImages, describe_images, open_workers, signature_of
from myriad.pipelines.evidence import Scored
from myriad.pipelines.hierarchy import read_hierarchy
from myriad.pipelines.scoring import StoreScoring, rank_store
from myriad.progress import SILENT, Advance, Progress
from myriad.serialisation import fingerprint
from myriad.store import Rows, Store, is_store
from myriad.store.formats import FileRows, is_row_data

BATCH = 64
"""Minimum number of rows that one product scores."""
PRECISION_BYTES = 256 << 20
"""Number of scores in memory at a time for the average precision of classes."""


@dataclass(frozen=True)
class Evaluated:
    """Accuracies, and the scored rows that they come from."""

    measures: Measures
    scored: Scored
    split: str
    bad: list[dict[str, str]]
    sibling: float | None = None

    @property
    def class_confusion(self) -> float | None:
        """The class-confusion loss in percent; see `measures.class_confusion`."""
        return class_confusion(self.scored.truths, self.scored.guesses)

    def to_json(self) -> dict[str, Any]:
        """Return what ``evaluate`` prints."""
        return self.measures.to_json() | {
            "split": self.split,
            "class_confusion": self.class_confusion,
            "sibling_top1": self.sibling,
        }


def evaluate(
    model: Path,
    data: Path,
    *,
    split: str | None = None,
    plain: bool = False,
    max_bad: float = 0.05,
    labels: Sequence[str] = (),
    column: str | None = None,
    hierarchy: Path | None = None,
    threads: int | None = None,
    cluster: Any = None,
    progress: Progress = SILENT,
) -> Evaluated:
    """Measure the model in folder `model` on `data`: images in any layout, a store, or rows.

    Parameters
    ----------
    split : the split to use; by default ``test`` where the data has one, else all of it.
    plain : whether a model of coded rows scores plain rows without encoding them.
    labels, column : where a file of rows has its labels and its rows; see `FileRows.open`.
    hierarchy : a CSV file with the columns ``class`` and ``parent``, for the sibling precision.
    cluster : where images are described and rows ranked; see `open_cluster`.
    """
    began = time.perf_counter()
    folder = load_model(model)
    if plain and isinstance(folder.model, CodedModel):
        folder = replace(folder, model=replace(folder.model, rounded=False))
    parents = None
    if hierarchy is not None:
        parents = number_parents(folder.class_names, read_hierarchy(hierarchy))
    precisions: tuple[float | None, float | None] = (None, None)
    truths: Truths
    of_rows = is_row_data(data) and not is_store(data)
    if (labels or column) and not of_rows:
        raise InputError(f"--labels and --rows are for files of rows, which {data} is not.")
    if of_rows and cluster is not None:
        raise InputError(f"--cluster ranks images and stores: import {data} first.")
    if of_rows:
        table = FileRows.open([data], labels, column)
        split = choose_split(table.splits, split, data)
        if split != "all":
            table = table.select(np.flatnonzero(table.splits == split))
        scored, truths = score_rows(
            folder, table, table.paths, str(data), threads=threads, progress=progress
        )
        if isinstance(truths, LabelSets):
            precisions = mean_precisions(folder, table, threads=threads, progress=progress)
        bad: list[dict[str, str]] = []
    elif is_store(data):
        store = Store.open(data)
        split = choose_split(store.splits, split, data)
        if split == "all" and "train" in store.splits:
            progress.note("All rows are scored, training rows among them; see --split.")
        remote = None if cluster is None else StoreScoring.of(model, store.path, split, plain=plain)
        scored, truths = score_store(
            folder,
            store,
            split,
            threads=threads,
            cluster=cluster,
            scoring=remote,
            progress=progress,
        )
        if isinstance(truths, LabelSets):
            rows = store.rows(None if split == "all" else split)
            matched = match_rows(folder.model, store.code, str(data))
            precisions = mean_precisions(
                replace(folder, model=matched), rows, threads=threads, progress=progress
            )
        bad = []
    else:
        images = find_images(data)
        split = choose_split(images.splits, split, data)
        if split != "all":
            images = images.select(images.splits == split)
        scored, truths, bad = score_images(
            folder, images, max_bad=max_bad, threads=threads, cluster=cluster, progress=progress
        )
    seconds = time.perf_counter() - began
    n_classes = len(folder.class_names)
    measures = measure(
        scored.ranks,
        truths,
        n_classes=n_classes,
        bad=len(bad),
        seconds=seconds,
        precisions=precisions,
    )
    sibling = None
    if parents is not None:
        sibling = sibling_precision(scored.truths, scored.guesses[:, None], parents)
    return Evaluated(measures, scored, split, bad, sibling)


def choose_split(splits: NDArray[Any], wanted: str | None, data: Path) -> str:
    """Return the split to evaluate: the one asked for, else ``test`` if there is one, else all."""
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
    cluster: Any = None,
    progress: Progress,
) -> tuple[Scored, NDArray[np.int32], list[dict[str, str]]]:
    """Describe and rank images; return them, their true classes by number, and the bad ones."""
    signature = signature_of(folder)
    bad = BadImages(len(images), max_bad)
    known, truths = match_classes(images.class_names, folder.class_names, images.labels)
    kept: list[int] = []

    def rows(advance: Advance) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        batch: list[NDArray[np.float32]] = []
        with open_workers(threads, len(images), cluster=cluster, progress=progress) as executor:
            executor.require(images.root)
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
    folder: ModelFolder,
    store: Store,
    split: str,
    *,
    threads: int | None,
    cluster: Any = None,
    scoring: StoreScoring | None = None,
    progress: Progress,
) -> tuple[Scored, Truths]:
    """Rank the rows of a store; return them and their true classes by number.

    Parameters
    ----------
    cluster, scoring : workers, and what they do, if they are to rank.
    """
    recipes = (folder.recipe, store.recipe)
    if None not in recipes and len({fingerprint(recipe) for recipe in recipes if recipe}) > 1:
        raise InputError(
            f"The rows of {store.path} were made with another vocabulary than the model's, so its "
            "scores would mean nothing. Evaluate on the images themselves."
        )
    dim = store.dim if store.code is None else store.code.dim
    if dim != folder.model.dim:
        raise InputError(
            f"The rows of {store.path} have {dim} features, the model takes {folder.model.dim}: "
            "they were made by another recipe."
        )
    folder = replace(folder, model=match_rows(folder.model, store.code, str(store.path)))
    rows = store.rows(None if split == "all" else split)
    name = str(store.path)
    if scoring is None:
        return score_rows(folder, rows, rows.paths, name, threads=threads, progress=progress)
    known, truths = match_truths(rows.class_names, folder.class_names, rows)
    with (
        open_cluster(cluster, progress=progress) as executor,
        progress.step("Scoring rows", rows.n_rows, "rows") as advance,
    ):
        found = rank_store(scoring, known, block_size(rows.dim), executor, advance)
    return Scored(show_truths(known, found[1]), found[1], found[0], rows.paths), truths


def score_rows(
    folder: ModelFolder,
    rows: Rows,
    paths: list[str],
    name: str,
    *,
    threads: int | None,
    progress: Progress,
) -> tuple[Scored, Truths]:
    """Rank rows, called `name` in errors; return the scored rows and their true classes."""
    if rows.dim != folder.model.dim:
        raise InputError(
            f"The rows of {name} have {rows.dim} features, the model takes "
            f"{folder.model.dim}: they were made by another recipe."
        )
    known, truths = match_truths(rows.class_names, folder.class_names, rows)

    def batches(advance: Advance) -> Iterator[tuple[NDArray[np.float32], Truths]]:
        for block in rows.blocks(block_size(rows.dim)):
            advance(len(block.X))
            yield block.X, select(known, block.index)

    with progress.step("Scoring rows", rows.n_rows, "rows") as advance, thread_executor(threads):
        ranks, guesses = rank_batches(folder.model, batches(advance))
    return Scored(show_truths(known, guesses), guesses, ranks, paths), truths


def show_truths(known: Truths, guesses: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one class for each row, also where it has several."""
    return nearest_truths(known, guesses) if isinstance(known, LabelSets) else known


def mean_precisions(
    folder: ModelFolder, rows: Rows, *, threads: int | None, progress: Progress
) -> tuple[float | None, float | None]:
    """Return the mean average precision of rows with several labels: area, and eleven points.

    Classes are scored in groups, to bound the memory.
    """
    known, _ = match_truths(rows.class_names, folder.class_names, rows)
    assert isinstance(known, LabelSets)
    n_classes = len(folder.class_names)
    size = max(1, PRECISION_BYTES // (5 * max(1, rows.n_rows)))
    groups = [slice(c, min(c + size, n_classes)) for c in range(0, n_classes, size)]
    areas, elevens = [], []
    work = len(groups) * rows.n_rows
    with (
        progress.step("Ranking rows for each class", work, "rows") as advance,
        thread_executor(threads),
    ):
        for group in groups:
            width = group.stop - group.start
            scores = np.empty((rows.n_rows, width), np.float32)
            for block in rows.blocks(block_size(rows.dim)):
                scores[block.index] = folder.model.scores_of(block.X, group)
                advance(len(block.X))
            numbers = np.arange(n_classes) - group.start
            numbers[(numbers < 0) | (numbers >= width)] = -1
            positive = known.renumbered(numbers.astype(np.int32)).to_matrix(width)
            area, eleven = average_precisions(scores, positive)
            areas.append(area)
            elevens.append(eleven)
    found = [np.concatenate(values) for values in (areas, elevens)]
    if np.isnan(found[0]).all():
        return None, None
    return float(np.nanmean(found[0])), float(np.nanmean(found[1]))


def block_size(dim: int) -> int:
    """Return the number of rows that one product scores."""
    return max(BATCH, min(1024, (32 << 20) // (4 * dim)))


def nearest_truths(sets: LabelSets, guesses: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one label for each row: the prediction where it is right, else the lowest label."""
    labels = sets.first()
    rows = np.repeat(np.arange(len(sets)), sets.sizes)
    right = rows[sets.classes == guesses[rows]]
    labels[right] = guesses[right]
    return labels


def select(truths: Truths, index: NDArray[np.int64]) -> Truths:
    """Return the true labels of some rows."""
    return truths.select(index) if isinstance(truths, LabelSets) else truths[index]


def rank_batches(
    model: Model, batches: Iterator[tuple[NDArray[np.float32], Any]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rank of the true label and the best class of every row."""
    judged = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    judged += [model.judge(X, labels) for X, labels in batches]
    ranks, guesses = zip(*judged, strict=True)
    return np.concatenate(ranks), np.concatenate(guesses)


def match_truths(
    data_names: Sequence[str], model_names: Sequence[str], rows: Rows
) -> tuple[Truths, Truths]:
    """Return the labels of rows twice, as `match_classes` does; of several, all of them."""
    if rows.sets is None:
        return match_classes(data_names, model_names, rows.labels)
    each = np.arange(len(data_names), dtype=np.int32)
    known, own = match_classes(data_names, model_names, each)
    return rows.sets.renumbered(known), rows.sets.renumbered(own)


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
