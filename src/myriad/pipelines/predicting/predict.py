"""Ranked labels for images."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError, WorkError
from myriad.images import BadImage, ImageFiles, list_inputs
from myriad.models import Decider, ModelFolder, load_model
from myriad.parallel import thread_executor
from myriad.pipelines.describing.image_rows import describe_images, open_workers, signature_of
from myriad.pipelines.predicting.decision_options import DecisionOptions
from myriad.pipelines.predicting.files import Journal, identify
from myriad.pipelines.predicting.scoring import BATCH
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.progress import Progress
from myriad.store.formats import RowFile, is_row_data, open_row_files

BLOCK = 1024
"""Number of rows that are ranked at a time."""


@dataclass(frozen=True)
class Predicted:
    """The ranked labels of each image, and the images that could not be read.

    Attributes
    ----------
    class_names : all labels of the model.
    sorted : how many images were sorted into the folder of each label.
    noun : what was ranked, "image" or "row".
    """

    predictions: list[dict[str, Any]]
    bad: list[dict[str, str]]
    class_names: list[str]
    seconds: float
    sorted: dict[str, int] | None = None
    noun: str = "image"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``predict`` prints."""
        answer: dict[str, Any] = {
            "predictions": self.predictions,
            "bad": self.bad,
            "seconds": round(self.seconds, 3),
        }
        return answer if self.sorted is None else answer | {"sorted": self.sorted}


def predict(
    model: Path,
    inputs: Sequence[str],
    *,
    k: int = 5,
    deciding: DecisionOptions | None = None,
    every: float | None = None,
    journal: Journal | None = None,
    run: Run = DEFAULT_RUN,
) -> Predicted:
    """Rank the `k` best labels of every image among the inputs: files, folders, lists of files.

    Files of ready-made rows may be given instead of images.

    Parameters
    ----------
    deciding : options of decisions: prediction sets, "unknown", fewer classes, a hierarchy.
    every : seconds between the frames of video files; None to leave videos out.
    journal : records the results, and has those of an interrupted run.
    """
    began = time.perf_counter()
    if k < 1:
        raise InputError(f"-k must be at least 1, not {k}.")
    folder = load_model(model)
    decider = (deciding or DecisionOptions()).make_decider(folder)
    of_rows = [is_row_data(Path(word)) for word in inputs]
    if any(of_rows):
        if not all(of_rows):
            other = inputs[of_rows.index(False)]
            raise InputError(
                f"{other} is not a file of rows, but other inputs are: give either images or rows."
            )
        ranked = rank_rows(decider, [Path(word) for word in inputs], k, run.progress)
        seconds = time.perf_counter() - began
        return Predicted(ranked, [], folder.class_names, seconds, noun="row")
    signature = signature_of(folder)
    journal = journal or Journal()
    listed = [str(path) for path in list_inputs(list(inputs), every=every)]
    journal.begin({"model": identify(model), "k": k, "deciding": repr(deciding), "every": every})
    paths = [path for path in dict.fromkeys(listed) if path not in journal.entries]
    files = ImageFiles(Path(), paths)
    with (
        run.progress.step("Predicting", len(listed), "images") as advance,
        open_workers(run, len(paths)) as executor,
    ):
        advance(len(listed) - len(paths))
        described = describe_images(files, range(len(paths)), signature, executor)
        while batch := list(islice(described, BATCH)):
            good = [(paths[i], row) for i, row in batch if not isinstance(row, BadImage)]
            journal.add(_rank(decider, good, k))
            journal.add(
                {"path": paths[i], "reason": row.reason}
                for i, row in batch
                if isinstance(row, BadImage)
            )
            advance(len(batch))
    entries = [journal.entries[path] for path in listed]
    predictions = [entry for entry in entries if "reason" not in entry]
    bad = [entry for entry in entries if "reason" in entry]
    if not predictions:
        journal.close(done=True)  # nothing in it is worth resuming
        first = "{path} ({reason})".format(**bad[0])
        raise WorkError(f"None of the {len(bad)} images could be read. The first: {first}.")
    return Predicted(predictions, bad, folder.class_names, time.perf_counter() - began)


def rank_rows(
    decider: Decider, paths: Sequence[Path], k: int, progress: Progress
) -> list[dict[str, Any]]:
    """Rank the `k` best labels of every row of some files, which are called ``FILE:ROW``."""
    files = open_row_files(paths)
    check_features(files[0], decider.folder)
    predictions: list[dict[str, Any]] = []
    total = sum(file.n_rows for file in files)
    with progress.step("Predicting", total, "rows") as advance, thread_executor(1):
        for file in files:
            first = 0
            for X in file.checked_blocks(BLOCK):
                decisions = decider.describe(decider.decide(X, k))
                for i, decision in enumerate(decisions):
                    predictions.append({"path": file.locate(first + i), **decision})
                first += len(X)
                advance(len(X))
    return predictions


def check_features(file: RowFile, folder: ModelFolder) -> None:
    """Raise `InputError` unless the rows of a file have the number of features of a model."""
    if file.dim != folder.model.dim:
        raise InputError(
            f"The rows of {file.path} have {file.dim} features, the model takes {folder.model.dim}."
        )


def _rank(
    decider: Decider, rows: Sequence[tuple[str, NDArray[np.float32]]], k: int
) -> list[dict[str, Any]]:
    """Return the decision for each path and row, as plain JSON."""
    if not rows:
        return []
    decisions = decider.describe(decider.decide(np.stack([row for _, row in rows]), k))
    return [{"path": path, **decision} for (path, _), decision in zip(rows, decisions, strict=True)]
