"""Compare all objectives on the same rows, each with searched settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError, MyriadError, WorkError
from myriad.measures import Measures
from myriad.models import is_model
from myriad.pipelines.describing.extract import ExtractOptions, open_source
from myriad.pipelines.outputs import locks_output
from myriad.pipelines.predicting.evaluate import evaluate
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.training.fitting import check_rows
from myriad.pipelines.training.replacement import describe_source, is_trained_from
from myriad.pipelines.training.train import train
from myriad.pipelines.training.trial_log import Record, TrialLog, check_trial_log
from myriad.pipelines.workers import connected
from myriad.randomness import generator
from myriad.store import ArrayRows, Store
from myriad.training import METHODS, Method, make_method

LEDGER, PAGE = "comparison.json", "comparison.html"
ACCURACIES = ("top1", "top5", "class_top1", "class_top5")
Accuracies = dict[str, Any]


@dataclass(frozen=True)
class Candidate:
    """One line of the table: an objective with its results, or the reason why it failed.

    Attributes
    ----------
    validation, test : ``n``, the accuracies in percent by `ACCURACIES`, and ``accuracy_at``, those
        over samples for k = 1 to 10; None if there are no such rows.
    seconds : time for the search of settings, training and validation.
    epochs : number of epochs.
    settings : the settings found.
    history : a row for each epoch, with at least ``epoch`` and ``top1``.
    model : the model folder.
    error : why there is no model.
    """

    objective: str
    validation: Accuracies = field(default_factory=dict)
    test: Accuracies | None = None
    seconds: float | None = None
    epochs: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    error: str | None = None

    @property
    def score(self) -> tuple[float, float]:
        """The key by which candidates are ranked: accuracy over samples on validation rows."""
        if self.error is not None:
            return -2.0, -2.0
        top1, top5 = self.validation.get("top1"), self.validation.get("top5")
        return (-1.0, -1.0) if top1 is None or top5 is None else (top1, top5)

    @classmethod
    def from_record(cls, objective: str, record: Record) -> Candidate:
        """Read a candidate from a trial log."""
        return cls(
            objective,
            _read_accuracies(record.record("validation")),
            None if record.content.get("test") is None else _read_accuracies(record.record("test")),
            record.number("seconds"),
            record.count("epochs"),
            record.settings("settings"),
            [
                {"epoch": epoch.count("epoch"), "top1": epoch.number("top1", high=100.001)}
                for epoch in record.records("history")
            ],
            record.text("model"),
            record.text("error"),
        )


@dataclass(frozen=True)
class Compared:
    """The table, the best line first."""

    store: Store
    candidates: list[Candidate]
    seconds: float

    @property
    def best(self) -> Candidate | None:
        """The best on validation rows, if there are any; test rows never decide."""
        first = self.candidates[0]
        return first if first.score[0] >= 0 else None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``compare`` prints, without the path of the page."""
        return {
            "store": str(self.store.path),
            "classes": len(self.store.class_names),
            "rows": [asdict(candidate) for candidate in self.candidates],
            "best": None if self.best is None else asdict(self.best),
            "seconds": round(self.seconds, 3),
        }


@locks_output(with_store=True)
def compare(
    data: Path,
    out: Path,
    *,
    objectives: Sequence[str] | None = None,
    epochs: int | None = None,
    store: Path | None = None,
    extracting: ExtractOptions | None = None,
    run: Run = DEFAULT_RUN,
) -> Compared:
    """Train every objective on `data` and measure it; the models are kept in the folder `out`.

    With `resume`, objectives that an interrupted run has finished are not trained again. An
    objective that fails, for instance because its weights overflow, is a line with the reason.

    Parameters
    ----------
    objectives : their names; by default all.
    epochs : maximum number of epochs, for objectives that have this option.
    """
    began = time.perf_counter()
    methods = make_methods(objectives, epochs=epochs, seed=run.seed)
    check_trial_log(out, LEDGER, overwrite=run.overwrite, resume=run.resume)
    with connected(run) as run:
        rows = open_source(data, out, store=store, extracting=extracting, run=run)
        check_rows(rows.rows("train"), rows, run.progress)
        key = {"store": rows.fingerprint, "seed": run.seed}
        trial_log = TrialLog(out / LEDGER, key, resume=run.resume)
        candidates = []
        for number, (objective, method) in enumerate(methods.items(), start=1):
            name, folder = f"{objective} {method!r}", out / objective.replace(":", "-")
            kept = trial_log.find(name)
            whole = is_model(folder) and is_trained_from(folder, describe_source(rows, method))
            if kept is not None and whole:
                candidates.append(Candidate.from_record(objective, kept))
                continue
            compile_kernels(method)
            run.progress.note(f"Objective {number} of {len(methods)}: {objective}.")
            candidate = replace(_train(rows, folder, method, run), objective=objective)
            if candidate.error is None:
                trial_log.keep(name, asdict(candidate))
            candidates.append(candidate)
    if all(candidate.error is not None for candidate in candidates):
        raise WorkError(f"No objective could be trained. {candidates[0].error}")
    candidates.sort(key=lambda candidate: candidate.score, reverse=True)
    return Compared(rows, candidates, time.perf_counter() - began)


def make_methods(
    objectives: Sequence[str] | None, *, epochs: int | None, seed: int
) -> dict[str, Method]:
    """Return the methods to compare by name, with default options but for seed and epochs.

    A name may state k after a colon, as ``topk:5``, where the objective has such an option.
    """
    names = list(METHODS) if objectives is None else list(dict.fromkeys(objectives))
    unknown = [name for name in names if name.partition(":")[0] not in METHODS]
    if unknown or not names:
        raise InputError(
            f"--objectives must be some of {', '.join(METHODS)}, separated by commas, "
            f"not {unknown[0] if unknown else ''!r}."
        )
    methods: dict[str, Method] = {}
    for name in names:
        objective, colon, k = name.partition(":")
        options = METHODS[objective].command_options(objective)
        if colon and "k" not in options:
            raise InputError(f"--objectives has {name}, but {objective} has no k: leave out {k!r}.")
        stated: dict[str, Any] = {"k": k} if colon else {}
        limited = epochs is not None and "epochs" in options
        stated |= {"epochs": epochs} if limited else {}
        method: Any = make_method(METHODS, objective, seed=seed, **stated)
        methods[f"{objective}:{method.k}" if colon else objective] = method
    return methods


def compile_kernels(method: Method) -> None:
    """Train on a few rows, so that compilation does not count as training time."""
    random = generator(0, "compilation")
    labels = np.arange(48) % 4
    rows = ArrayRows(random.standard_normal((48, 8), dtype=np.float32), labels)
    with suppress(MyriadError):
        method.fit(rows.select(np.arange(32)), rows.select(np.arange(32, 48)), n_classes=4)


def _train(
    rows: Store,
    out: Path,
    method: Method,
    run: Run,
) -> Candidate:
    try:
        # Overwritten, since the trial log records which models are finished.
        trained = train(rows.path, out, method=method, run=replace(run, overwrite=True))
    except (WorkError, InputError, MemoryError) as error:
        reason = "There is not enough memory." if isinstance(error, MemoryError) else str(error)
        run.progress.note(f"{method.objective} failed: {reason}")
        return Candidate(method.objective, error=reason)
    test: Accuracies | None = None
    if "test" in rows.split_names:
        tested = evaluate(out, rows.path, split="test", run=run)
        test = _pick(tested.measures)
    return Candidate(
        method.objective,
        _pick(trained.validation),
        test,
        round(trained.seconds_training, 3),
        trained.fitted.epochs,
        {n: v for n, v in trained.fitted.settings.items() if not isinstance(v, dict)},
        [
            {"epoch": epoch["epoch"], "top1": epoch["top1"]}
            for epoch in trained.fitted.history
            if "top1" in epoch
        ],
        str(out),
    )


def _pick(measures: Measures) -> Accuracies:
    values = measures.to_json()
    return {name: values[name] for name in ("n", *ACCURACIES, "accuracy_at")}


def _read_accuracies(record: Record) -> Accuracies:
    accuracies: Accuracies = {name: record.number(name, high=100.001) for name in ACCURACIES}
    at = record.record("accuracy_at")
    accuracies["accuracy_at"] = {k: at.number(k, high=100.001) for k in at.content}
    return {"n": record.count("n"), **accuracies}
