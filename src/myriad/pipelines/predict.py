"""Ranked labels for images."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, WorkError
from myriad.files import atomic_write
from myriad.images import BadImage, ImageFiles, list_inputs
from myriad.models import ModelFolder, load_model
from myriad.parallel import thread_executor
from myriad.pipelines.describing import describe_images, open_workers, signature_of
from myriad.pipelines.scoring import BATCH
from myriad.progress import SILENT, Progress
from myriad.store.formats import RowFile, is_row_data, open_row_files

BLOCK = 1024
"""Number of rows that are ranked at a time."""


@dataclass(frozen=True)
class Predicted:
    """The ranked labels of each image, and the images that could not be read."""

    predictions: list[dict[str, Any]]
    bad: list[dict[str, str]]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what ``predict`` prints."""
        return {
            "predictions": self.predictions,
            "bad": self.bad,
            "seconds": round(self.seconds, 3),
        }


def predict(
    model: Path,
    inputs: Sequence[str],
    *,
    k: int = 5,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Predicted:
    """Rank the `k` best labels of every image among the inputs: files, folders, lists of files.

    Files of ready-made rows may be given instead of images.
    """
    began = time.perf_counter()
    if k < 1:
        raise InputError(f"-k must be at least 1, not {k}.")
    folder = load_model(model)
    of_rows = [is_row_data(Path(word)) for word in inputs]
    if any(of_rows):
        if not all(of_rows):
            other = inputs[of_rows.index(False)]
            raise InputError(f"{other} is no file of rows, others are: give images or rows.")
        ranked = rank_rows(folder, [Path(word) for word in inputs], k, progress)
        return Predicted(ranked, [], time.perf_counter() - began)
    signature = signature_of(folder)
    paths = [str(path) for path in list_inputs(list(inputs))]
    files = ImageFiles(Path(), paths)
    predictions: list[dict[str, Any]] = []
    bad: list[dict[str, str]] = []
    with (
        progress.step("Ranking", len(paths), "images") as advance,
        open_workers(threads, len(paths)) as executor,
    ):
        described = describe_images(files, range(len(paths)), signature, executor)
        while batch := list(islice(described, BATCH)):
            good = [(paths[i], row) for i, row in batch if not isinstance(row, BadImage)]
            predictions += _rank(folder, good, k)
            bad += [
                {"path": paths[i], "reason": row.reason}
                for i, row in batch
                if isinstance(row, BadImage)
            ]
            advance(len(batch))
    if not predictions:
        first = "{path} ({reason})".format(**bad[0])
        raise WorkError(f"None of the {len(bad)} images could be read. The first: {first}.")
    return Predicted(predictions, bad, time.perf_counter() - began)


def rank_rows(
    folder: ModelFolder, paths: Sequence[Path], k: int, progress: Progress
) -> list[dict[str, Any]]:
    """Rank the `k` best labels of every row of some files, which are called ``FILE:ROW``."""
    files = open_row_files(paths)
    check_features(files[0], folder)
    predictions: list[dict[str, Any]] = []
    total = sum(file.n_rows for file in files)
    with progress.step("Ranking", total, "rows") as advance, thread_executor(1):
        for file in files:
            first = 0
            for X in file.checked_blocks(BLOCK):
                labels, scores = folder.model.rank(X, k)
                for i in range(len(X)):
                    ranked = name_ranked(folder, labels[i], scores[i])
                    predictions.append({"path": file.locate(first + i), "labels": ranked})
                first += len(X)
                advance(len(X))
    return predictions


def name_ranked(
    folder: ModelFolder, labels: np.ndarray, scores: np.ndarray
) -> list[dict[str, Any]]:
    """Return the ranked classes of one image or row by name, best first."""
    ranked = zip((folder.class_names[c] for c in labels), scores.tolist(), strict=True)
    return [{"label": name, "score": score} for name, score in ranked]


def check_features(file: RowFile, folder: ModelFolder) -> None:
    """Raise `InputError` unless the rows of a file have the number of features of a model."""
    if file.dim != folder.model.dim:
        raise InputError(
            f"The rows of {file.path} have {file.dim} features, the model takes {folder.model.dim}."
        )


def _rank(
    folder: ModelFolder, rows: Sequence[tuple[str, NDArray[np.float32]]], k: int
) -> list[dict[str, Any]]:
    """Return the best labels of each path and row."""
    if not rows:
        return []
    labels, scores = folder.model.rank(np.stack([row for _, row in rows]), k)
    return [
        {
            "path": path,
            "labels": [
                {"label": folder.class_names[c], "score": score}
                for c, score in zip(labels[j], scores[j].tolist(), strict=True)
            ],
        }
        for j, (path, _) in enumerate(rows)
    ]


def write_csv(predicted: Predicted, path: Path) -> None:
    """Write a line for each image and rank: path, rank, label, score."""
    with (
        atomic_write(path) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(["path", "rank", "label", "score"])
        for prediction in predicted.predictions:
            for rank, entry in enumerate(prediction["labels"], start=1):
                writer.writerow([prediction["path"], rank, entry["label"], entry["score"]])
