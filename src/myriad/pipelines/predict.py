"""Ranked labels for images."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError, WorkError
from myriad.files import written_whole
from myriad.images import BadImage, list_inputs
from myriad.images.reading import read_bytes
from myriad.models import ModelFolder, load_model
from myriad.parallel import pool
from myriad.pipelines.describing import describe_images, signature_of
from myriad.progress import SILENT, Progress
from myriad.store.formats import RowFile, is_row_data, open_row_files

BLOCK = 1024
"""Rows ranked at a time."""


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


@dataclass(frozen=True)
class Files:
    """Image files by path."""

    paths: Sequence[Path]

    def read(self, i: int) -> bytes:
        """Return the bytes of file `i`."""
        return read_bytes(self.paths[i])


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
    files = Files(list_inputs(list(inputs)))
    predictions: list[dict[str, Any]] = []
    bad: list[dict[str, str]] = []
    with progress.step("Ranking", len(files.paths), "images") as advance, pool(threads) as executor:

        def rank(row: np.ndarray) -> list[dict[str, Any]]:
            labels, scores = folder.model.rank(row[None, :], k)
            return name_ranked(folder, labels[0], scores[0])

        described = describe_images(
            files, range(len(files.paths)), signature, executor, finish=rank
        )
        for i, ranked in described:
            path = str(files.paths[i])
            if isinstance(ranked, BadImage):
                bad.append({"path": path, "reason": ranked.reason})
            else:
                predictions.append({"path": path, "labels": ranked})
            advance(1)
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
    with progress.step("Ranking", total, "rows") as advance, pool(1):
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
    """Raise `InputError` unless the rows of a file are as wide as a model wants them."""
    if file.dim != folder.model.dim:
        raise InputError(
            f"The rows of {file.path} have {file.dim} features, the model takes {folder.model.dim}."
        )


def write_csv(predicted: Predicted, path: Path) -> None:
    """Write a line for each image and rank: path, rank, label, score."""
    with (
        written_whole(path) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(["path", "rank", "label", "score"])
        for prediction in predicted.predictions:
            for rank, entry in enumerate(prediction["labels"], start=1):
                writer.writerow([prediction["path"], rank, entry["label"], entry["score"]])
