"""A model's accuracy on images or on the rows of a store."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import find_images
from myriad.measures import (
    LabelSets,
    Measures,
    Truths,
    class_confusion,
    measure,
    number_parents,
    sibling_precision,
)
from myriad.models import CodedModel, load_model, match_rows
from myriad.pipelines.evidence import Scored
from myriad.pipelines.row_options import ExtractOptions
from myriad.pipelines.scoring import (
    StoreScoring,
    mean_precisions,
    score_images,
    score_rows,
    score_store,
)
from myriad.progress import SILENT, Progress
from myriad.store import Store, is_store
from myriad.store.formats import FileRows, is_row_data


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
    max_bad: float = ExtractOptions.max_bad,
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
        raise InputError(f"{data} has no images for --split {wanted}; splits it states: {stated}.")
    return wanted


def read_hierarchy(path: Path) -> dict[str, str]:
    """Return the parent of each class; the file has the columns ``class`` and ``parent``."""
    parents: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            if not {"class", "parent"} <= set(reader.fieldnames or []):
                raise InputError(f"{path} needs the columns class and parent in its first line.")
            for line in reader:
                name, parent = line["class"], line["parent"]
                if not name or not parent:
                    raise InputError(
                        f"{path}, line {reader.line_num}: a class and its parent are needed."
                    )
                if parents.setdefault(name, parent) != parent:
                    raise InputError(
                        f"{path}, line {reader.line_num}: {name} has two parents, "
                        f"{parents[name]} and {parent}."
                    )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a hierarchy: {error}.") from None
    return parents
