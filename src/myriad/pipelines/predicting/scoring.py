"""Images and rows ranked by a model: here, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.images import ImageList
from myriad.measures import LabelSets, Truths, select_truths
from myriad.models import (
    CodedModel,
    Model,
    ModelFolder,
    RowResults,
    evaluate_decisions,
    join_results,
    load_model,
    match_rows,
)
from myriad.models.folder import CONFIG
from myriad.parallel import Executor, open_cluster, thread_executor
from myriad.pipelines.describing.image_rows import (
    BadImages,
    describe_images,
    keep_good,
    open_workers,
    signature_of,
)
from myriad.pipelines.evidence.documentation import Scored
from myriad.pipelines.predicting.decision_options import DecisionOptions
from myriad.pipelines.predicting.label_precision import ImageScores, find_precisions
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.progress import Advance
from myriad.serialisation import fingerprint
from myriad.store import Rows, Store, StoreRows, state_of
from myriad.store.manifest import STORE

BATCH = 64
"""Minimum number of rows that one product scores."""
BLOCKS = 8
"""Number of blocks of rows that a worker ranks in one task."""


@dataclass(frozen=True)
class Evaluator:
    """Ranks images and rows by a model, and compares them with their true classes.

    Attributes
    ----------
    folder : the model.
    deciding : the options of decisions; None to rank classes by their scores.
    n_best : how many of the best classes of each image or row are kept.
    run : its cluster describes images and ranks the rows of stores.
    """

    folder: ModelFolder
    deciding: DecisionOptions | None = None
    n_best: int = 0
    run: Run = DEFAULT_RUN

    def score_images(
        self, images: ImageList, *, max_bad: float
    ) -> tuple[Scored, Truths, list[dict[str, str]]]:
        """Describe and rank images; return them, their true classes by number, and the bad ones."""
        signature = signature_of(self.folder)
        bad = BadImages(len(images), max_bad)
        known, truths = match_truths(images.class_names, self.folder.class_names, images)
        kept: list[int] = []
        several = isinstance(known, LabelSets)
        scores = ImageScores(self.folder.model, len(images)) if several else None

        def known_of(indices: list[int]) -> Truths:
            return select_truths(known, np.array(indices, np.int64))

        def rows(advance: Advance) -> Iterator[tuple[NDArray[np.float32], Truths]]:
            with open_workers(self.run, len(images)) as executor:
                executor.require(images.root)
                described = describe_images(images, range(len(images)), signature, executor)
                good = keep_good(described, images, bad, advance)
                while batch := list(islice(good, BATCH)):
                    numbers, found = zip(*batch, strict=True)
                    kept.extend(numbers)
                    yield np.stack(found), known_of(list(numbers))

        with self.run.progress.step("Scoring images", len(images), "images") as advance:
            results = self._evaluate(rows(advance), scores)
        scored = gather_scored(known_of(kept), results, [images.locate(i) for i in kept])
        if scores is not None and scored.sets is not None:
            scored = replace(scored, precisions=scores.find_precisions(scored.sets))
        return scored, select_truths(truths, np.array(kept, np.int64)), bad.found

    def score_store(
        self,
        store: Store,
        split: str,
        scoring: StoreScoring | None = None,
    ) -> tuple[Scored, Truths]:
        """Rank the rows of a store; return them and their true classes by number.

        Parameters
        ----------
        scoring : what the workers of a cluster do, if they are to rank: by scores alone, and they
            keep the best class.
        """
        matched = replace(self, folder=match_store(self.folder, store))
        rows = store.rows(None if split == "all" else split)
        if scoring is None:
            return matched.score_rows(rows, rows.paths, str(store.path))
        known, truths = match_truths(rows.class_names, self.folder.class_names, rows)
        with (
            open_cluster(self.run.cluster, progress=self.run.progress) as executor,
            self.run.progress.step("Scoring rows", rows.n_rows, "rows") as advance,
        ):
            ranked = rank_store(scoring, known, block_size(rows.dim), executor, advance)
        results = dict(zip(("ranks", "guesses"), ranked, strict=True))
        return matched._add_precisions(gather_scored(known, results, rows.paths), rows), truths

    def score_rows(self, rows: Rows, paths: list[str], name: str) -> tuple[Scored, Truths]:
        """Rank rows, called `name` in errors; return the scored rows and their true classes."""
        if rows.dim != self.folder.model.dim:
            raise InputError(
                f"The rows of {name} have {rows.dim} features, the model takes "
                f"{self.folder.model.dim}: they were extracted with other settings."
            )
        known, truths = match_truths(rows.class_names, self.folder.class_names, rows)

        def batches(advance: Advance) -> Iterator[tuple[NDArray[np.float32], Truths]]:
            for block in rows.blocks(block_size(rows.dim)):
                advance(len(block.X))
                yield block.X, select_truths(known, block.index)

        with (
            self.run.progress.step("Scoring rows", rows.n_rows, "rows") as advance,
            thread_executor(self.run.threads),
        ):
            results = self._evaluate(batches(advance))
        return self._add_precisions(gather_scored(known, results, paths), rows), truths

    def _evaluate(
        self,
        batches: Iterator[tuple[NDArray[np.float32], Any]],
        scores: ImageScores | None = None,
    ) -> RowResults:
        """Return how the decisions for all rows compare with their true classes.

        Parameters
        ----------
        scores : what the scores of the rows are added to, if they are needed later.
        """
        evaluate_rows = make_evaluator(self.folder, self.deciding, self.n_best)
        parts = []
        for X, labels in batches:
            parts.append(evaluate_rows(X, labels))
            if scores is not None:
                scores.add(X)
        return join_results(parts)

    def _add_precisions(self, scored: Scored, rows: Rows) -> Scored:
        """Return scored rows with average precisions, if rows have several labels."""
        if scored.sets is None:
            return scored
        model, block, progress = self.folder.model, block_size(rows.dim), self.run.progress
        with thread_executor(self.run.threads):
            precisions = find_precisions(model, rows, scored.sets, block=block, progress=progress)
        return replace(scored, precisions=precisions)


def match_store(folder: ModelFolder, store: Store) -> ModelFolder:
    """Return a model for the rows of a store; `InputError` unless they are rows of its kind."""
    recipes = (folder.recipe, store.recipe)
    if None not in recipes and len({fingerprint(recipe) for recipe in recipes if recipe}) > 1:
        raise InputError(
            f"The rows of {store.path} were made with another signature or vocabulary than the "
            "model's, so its scores would be meaningless. Use the images themselves."
        )
    dim = store.dim if store.code is None else store.code.dim
    if dim != folder.model.dim:
        raise InputError(
            f"The rows of {store.path} have {dim} features, the model takes {folder.model.dim}: "
            "they were extracted with other settings."
        )
    return replace(folder, model=match_rows(folder.model, store.code, str(store.path)))


def gather_scored(known: Truths, results: RowResults, paths: list[str]) -> Scored:
    """Return scored rows; of a row with several classes, one is its truth, and all are its set."""
    ranks, guesses = results["ranks"], results["guesses"]
    if isinstance(known, LabelSets):
        return Scored(nearest_truths(known, guesses), guesses, ranks, paths, results, sets=known)
    return Scored(known, guesses, ranks, paths, results)


def block_size(dim: int) -> int:
    """Return the number of rows that one product scores."""
    return max(BATCH, min(1024, (32 << 20) // (4 * dim)))


def nearest_truths(sets: LabelSets, guesses: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one true label for each row: the predicted one if it is right, else the lowest."""
    labels = sets.first()
    rows, classes = sets.pairs()
    right = rows[classes == guesses[rows]]
    labels[right] = guesses[right]
    return labels


def slice_truths(truths: Truths, rows: slice) -> Truths:
    """Return the true labels of a range of rows."""
    return truths.part(rows) if isinstance(truths, LabelSets) else truths[rows]


EvaluateRows = Callable[[NDArray[np.float32], Any], RowResults]


def make_evaluator(
    folder: ModelFolder, deciding: DecisionOptions | None, n_best: int = 0
) -> EvaluateRows:
    """Return the function that compares the decisions for rows with their true classes."""
    calibrated = folder.calibration is not None or folder.label_calibration is not None
    if deciding is not None and (calibrated or deciding != DecisionOptions()):
        return partial(evaluate_decisions, deciding.make_decider(folder), n_best=n_best)

    def evaluate_scores(X: NDArray[np.float32], truths: Any) -> RowResults:
        ranks, guesses = folder.model.rank_true_labels(X, truths)
        best = {"best": folder.model.rank(X, n_best)[0]} if n_best else {}
        return {"ranks": ranks, "guesses": guesses, **best}

    return evaluate_scores


def match_truths(
    data_names: Sequence[str], model_names: Sequence[str], rows: Rows | ImageList
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
    """Return the labels of rows as numbers of the model's classes, in two arrays.

    In the first array classes that the model does not know are -1; in the second they have numbers
    of their own, so that the mean over classes can count each of them.
    """
    number = {name: c for c, name in enumerate(model_names)}
    known = np.array([number.get(name, -1) for name in data_names] + [-1], np.int32)
    own = np.array([number.get(name, len(number) + i) for i, name in enumerate(data_names)] + [-1])
    return known[labels], own.astype(np.int32)[labels]


@dataclass(frozen=True)
class StoreScoring:
    """Ranks rows of a store by a model, both known by their paths.

    Attributes
    ----------
    model, store : the folders, each with a number that changes when its content does.
    split : the split of the store that is ranked, ``all`` for all rows.
    plain : see `evaluate`.
    """

    model: tuple[Path, int]
    store: tuple[Path, int]
    split: str
    plain: bool

    @classmethod
    def of(cls, model: Path, store: Path, split: str, *, plain: bool) -> StoreScoring:
        """Return the task for the folders with their present content."""
        changed = (model / CONFIG).stat().st_mtime_ns
        return cls((model.absolute(), changed), (store.absolute(), state_of(store)), split, plain)

    def __call__(self, task: tuple[list[range], Truths]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rank of the true label and the best class of each row of some blocks."""
        model, rows = _open(self)
        blocks, truths = task
        found, start = [], 0
        for block in blocks:
            own = slice(start, start + len(block))
            some = slice_truths(truths, own)
            found.append(model.rank_true_labels(rows.read(block), some))
            start = own.stop
        ranks, guesses = zip(*found, strict=True)
        return np.concatenate(ranks), np.concatenate(guesses)


def rank_store(
    scoring: StoreScoring, truths: Truths, size: int, executor: Executor, advance: Advance
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rank of the true label and the best class of all rows, in their order.

    Parameters
    ----------
    truths : of all rows.
    size : rows of a block.
    """
    n_rows = len(truths)

    def cut() -> Iterator[tuple[list[range], Truths]]:
        for start in range(0, n_rows, BLOCKS * size):
            stop = min(start + BLOCKS * size, n_rows)
            blocks = [range(i, min(i + size, stop)) for i in range(start, stop, size)]
            yield blocks, slice_truths(truths, slice(start, stop))

    executor.require(scoring.model[0], scoring.store[0] / STORE)
    results = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    for part in executor.map(scoring, cut()):
        advance(len(part[0]))
        results.append(part)
    ranks, guesses = zip(*results, strict=True)
    return np.concatenate(ranks), np.concatenate(guesses)


@lru_cache(maxsize=2)
def _open(scoring: StoreScoring) -> tuple[Model, StoreRows]:
    store = Store.open(scoring.store[0])
    model = load_model(scoring.model[0]).model
    if scoring.plain and isinstance(model, CodedModel):
        model = replace(model, rounded=False)
    rows = store.rows(None if scoring.split == "all" else scoring.split)
    return match_rows(model, store.code, str(store.path)), rows
