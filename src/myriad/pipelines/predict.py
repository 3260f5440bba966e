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
from myriad.models import load_model
from myriad.parallel import pool
from myriad.pipelines.describing import describe_images, signature_of
from myriad.progress import SILENT, Progress


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
    """Rank the `k` best labels of every image among the inputs: files, folders, lists of files."""
    began = time.perf_counter()
    if k < 1:
        raise InputError(f"-k must be at least 1, not {k}.")
    folder = load_model(model)
    signature = signature_of(folder)
    files = Files(list_inputs(list(inputs)))
    predictions: list[dict[str, Any]] = []
    bad: list[dict[str, str]] = []
    with progress.step("Ranking", len(files.paths), "images") as advance, pool(threads) as executor:

        def rank(row: np.ndarray) -> list[dict[str, Any]]:
            labels, scores = folder.model.rank(row[None, :], k)
            names = [folder.class_names[c] for c in labels[0]]
            ranked = zip(names, scores[0].tolist(), strict=True)
            return [{"label": name, "score": score} for name, score in ranked]

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
