"""Active learning: the unlabelled images whose labels would improve a model most."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from myriad.arrays import Float
from myriad.errors import InputError, WorkError
from myriad.files import atomic_write
from myriad.images import BadImage, ImageFiles, list_inputs
from myriad.models import Decider, ModelFolder, Rejection, load_model
from myriad.parallel import thread_executor
from myriad.pipelines.describing.image_rows import describe_images, open_workers, signature_of
from myriad.pipelines.predicting.predict import BLOCK, check_features
from myriad.pipelines.predicting.scoring import BATCH
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.updating.extension_training import find_novelty
from myriad.pipelines.updating.known_rows import read_known
from myriad.pipelines.updating.label_choice import (
    CLASSES,
    MOST_ROWS,
    Unlabelled,
    choose_rows,
    spread_rows,
)
from myriad.progress import Advance, Progress
from myriad.randomness import generator
from myriad.store import Store
from myriad.store.formats import is_row_data, open_row_files

NOVEL = 0.01
"""Images are novel if so small a fraction of the rows of known classes is as novel."""
NOVEL_SHARE = 5
"""One novel image is listed for this many others, or as many as the others lack."""
COLUMNS = ("path", "label", "kind", "suggested", "probability", "second", "second_probability")


@dataclass(frozen=True)
class Suggested:
    """Images or rows to label, the most useful first, and novel ones separately.

    Attributes
    ----------
    images, novel : for each image ``path``, ``kind``, ``suggested`` with its ``probability``,
        ``second`` with ``second_probability``; novel ones also ``novelty``.
    considered : number of images that were considered.
    noun : what was considered, "image" or "row".
    """

    images: list[dict[str, Any]]
    novel: list[dict[str, Any]]
    bad: list[dict[str, str]]
    considered: int
    seconds: float
    noun: str = "image"

    def to_json(self) -> dict[str, Any]:
        """Return what ``predict --next`` prints."""
        return {
            "predictions": [],
            "next": self.images,
            "novel": self.novel,
            "considered": self.considered,
            "bad": self.bad,
            "seconds": round(self.seconds, 3),
        }


def suggest_labels(
    model: Path,
    inputs: Sequence[str],
    n: int,
    *,
    labelled: Sequence[Path] = (),
    every: float | None = None,
    run: Run = DEFAULT_RUN,
) -> Suggested:
    """Return up to `n` of the images among the inputs to label next; see `label_choice`.

    Images unlike all classes are listed separately, as they may belong to none of them.

    Parameters
    ----------
    labelled : stores of rows that have labels, such as those that the model was trained on. Without
        them, the class means that the model stores are used.
    """
    began = time.perf_counter()
    if n < 1:
        raise InputError(f"--next must be at least 1, not {n}.")
    folder = load_model(model)
    decider = make_decider(folder)
    progress, pool = run.progress, Pool(run.seed)
    bad: list[Any] = []
    parts = [
        read_labelled(folder, Store.open(path), seed=run.seed, progress=progress)
        for path in labelled
    ]
    means = None if parts else find_means(folder)
    if not parts and means is None:
        progress.note(
            "Without --store, the choice does not know which images are labelled, and may be worse "
            "than one at random: this model keeps no class means."
        )
    of_rows = [is_row_data(Path(word)) for word in inputs]
    if any(of_rows) and not all(of_rows):
        raise InputError(
            f"{inputs[of_rows.index(False)]} is not a file of rows, but other inputs are."
        )
    noun = "row" if any(of_rows) else "image"
    if any(of_rows):
        files = open_row_files([Path(word) for word in inputs])
        check_features(files[0], folder)
        with progress.step("Predicting", sum(file.n_rows for file in files), "rows") as advance:
            for file in files:
                first = 0
                for X in file.checked_blocks(BLOCK):
                    paths = [file.locate(first + i) for i in range(len(X))]
                    pool.add(paths, decider, X)
                    first += len(X)
                    advance(len(X))
    else:
        paths = list(dict.fromkeys(str(path) for path in list_inputs(list(inputs), every=every)))
        with progress.step("Predicting", len(paths), "images") as advance:
            for some, rows in _describe(paths, folder, bad, run, advance):
                pool.add(some, decider, rows)
    if pool.considered == 0:
        first_bad = "{path} ({reason})".format(**bad[0]) if bad else "none was given"
        raise WorkError(f"None of the images could be read: {first_bad}.")
    known = np.concatenate(parts) if parts else None
    with progress.step(f"Selecting {noun}s to label"):
        images, novel = pool.choose(n, folder.class_names, known, means)
    return Suggested(images, novel, bad, pool.considered, time.perf_counter() - began, noun)


def find_means(folder: ModelFolder) -> Float | None:
    """Return the class means of a model, float32 (n_classes, n_features); None if it has none."""
    novelty = find_novelty(folder)
    if novelty is None:
        return None
    points = novelty.points[~np.isnan(novelty.points).any(axis=1)]
    found: Float = points @ novelty.directions + novelty.mean
    return found


def make_decider(folder: ModelFolder) -> Decider:
    """Return the decider for probabilities and, if available, novelty."""
    calibration = Decider(folder).require_calibration("--next")
    if calibration.novelty is None:
        return Decider(folder)
    return Decider(folder, reject=Rejection("novelty", NOVEL))


def _describe(
    paths: list[str],
    folder: ModelFolder,
    bad: list[dict[str, str]],
    run: Run,
    advance: Advance,
) -> Iterator[tuple[list[str], Float]]:
    """Yield the paths and rows of some images at a time; bad ones are added to `bad`."""
    files, signature = ImageFiles(Path(), paths), signature_of(folder)
    with open_workers(run, len(paths)) as executor:
        described = describe_images(files, range(len(paths)), signature, executor)
        while batch := list(islice(described, BATCH)):
            good = [(paths[i], row) for i, row in batch if not isinstance(row, BadImage)]
            bad += [
                {"path": paths[i], "reason": row.reason}
                for i, row in batch
                if isinstance(row, BadImage)
            ]
            if good:
                yield [path for path, _ in good], np.stack([row for _, row in good])
            advance(len(batch))


Entry = tuple[float, str, Float, Any, Any, float]
"""Rank (the highest first), path, row, best classes, their probabilities, and novelty."""


class Pool:
    """A bounded sample of candidate rows."""

    def __init__(self, seed: int) -> None:
        self.considered = 0
        self._seed, self._draws = seed, generator(seed, "images that come into question")
        self._known: list[Entry] = []
        self._novel: list[Entry] = []

    def add(self, paths: Sequence[str], decider: Decider, X: Float) -> None:
        """Add rows; if there are too many, keep a random sample, and the most novel ones."""
        found = decider.decide(X, CLASSES)
        assert found.probabilities is not None
        rows, drawn = decider.model.prepare(X), self._draws.random(len(X))
        for i, path in enumerate(paths):
            novelty = 0.0 if found.novelty is None else float(found.novelty[i])
            row = (rows[i], found.labels[i], found.probabilities[i], novelty)
            if found.unknown is not None and found.unknown[i]:
                self._novel.append((novelty, path, *row))
            else:
                self._known.append((float(drawn[i]), path, *row))
        self.considered += len(X)
        for entries in (self._known, self._novel):
            if len(entries) > 2 * MOST_ROWS:
                _keep_first(entries)

    def choose(
        self,
        n: int,
        class_names: Sequence[str],
        labelled: Float | None,
        means: Float | None,
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the images to label, and the novel ones, as plain JSON."""
        images: list[dict[str, Any]] = []
        _keep_first(self._known)
        if self._known:
            rows = Unlabelled(*(np.stack([e[i] for e in self._known]) for i in (2, 3, 4)))
            with thread_executor(1):
                chosen = choose_rows(rows, n, labelled=labelled, means=means, seed=self._seed)
            images = [_describe_entry(self._known[i], class_names, "informative") for i in chosen]
        novel: list[dict[str, Any]] = []
        _keep_first(self._novel)
        if self._novel:
            X = np.stack([entry[2] for entry in self._novel])
            # Photographs of a new place or camera may all be novel.
            for i in spread_rows(X, max(1, n // NOVEL_SHARE, n - len(images))):
                found = _describe_entry(self._novel[i], class_names, "novel")
                novel.append(found | {"novelty": self._novel[i][5]})
        return images, novel


def _keep_first(entries: list[Entry]) -> None:
    """Sort entries by their first number, the highest first, and drop those beyond `MOST_ROWS`."""
    entries.sort(key=lambda entry: (-entry[0], entry[1]))
    del entries[MOST_ROWS:]


def read_labelled(folder: ModelFolder, store: Store, *, seed: int, progress: Progress) -> Float:
    """Return labelled rows of a store, prepared for the weights of the model."""
    names = {name: c for c, name in enumerate(store.class_names)}
    X = read_known(folder, store, names, seed=seed, progress=progress).X
    if len(X) <= MOST_ROWS:
        return X
    drawn = generator(seed, "labelled rows").permutation(len(X))[:MOST_ROWS]
    return X[np.sort(drawn)]


def _describe_entry(entry: Entry, class_names: Sequence[str], kind: str) -> dict[str, Any]:
    _, path, _, classes, probabilities, _ = entry
    found = {
        "path": path,
        "kind": kind,
        "suggested": class_names[classes[0]],
        "probability": float(probabilities[0]),
    }
    if len(classes) > 1:
        found["second"] = class_names[classes[1]]
        found["second_probability"] = float(probabilities[1])
    return found


def write_suggestions(suggested: Suggested, path: Path) -> None:
    """Write the images to label as CSV, with an empty column ``label`` to fill in.

    Paths are relative to the folder of the file, so that it is a manifest once it has labels.
    """
    with (
        atomic_write(path) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for image in [*suggested.images, *suggested.novel]:
            relative = os.path.relpath(image["path"], path.parent)
            writer.writerow([relative, "", *(image.get(name) for name in COLUMNS[2:])])
