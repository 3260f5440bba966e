"""From rows to weights: search the settings, train until validation accuracy stops rising."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.objectives import JOINT_OBJECTIVES
from myriad.parallel import Team, team
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.joint import Joint
from myriad.training.one_vs_rest import OneVsRest
from myriad.training.plan import Fitted, Plan
from myriad.training.search import grid, search, search_rows
from myriad.training.settings import Setting
from myriad.training.stopping import Stopping
from myriad.training.trainer import Trainer
from myriad.training.validation import validate

OBJECTIVES = ("ovr", *JOINT_OBJECTIVES)

BIAS_SQUARE = 0.1
"""The square of the constant feature, as a part of the mean squared norm of the rows."""
UNSEARCHED_STEP = 0.1
"""The step where nothing is held out to search on, as a part of ``1 / mean |x|^2``."""
UNSEARCHED_BETA = 16.0


def fit(
    train: Rows,
    val: Rows | None,
    plan: Plan,
    *,
    objective: str,
    n_classes: int,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Fitted:
    """Train weights by an objective of `OBJECTIVES`.

    With validation rows, what the plan leaves open is searched, training stops early and the best
    weights are kept; without, modest numbers stand in and training takes all epochs.
    """
    if objective != "ovr" and plan.beta is not None:
        raise InputError(f"beta belongs to the objective ovr; {objective} draws no negatives.")
    square = mean_square(train)

    def make(settings: list[Setting], rows: Rows) -> Trainer:
        return make_trainer(objective, settings, rows, plan, n_classes, square)

    table: list[dict[str, Any]] = []
    with team(threads) as crew:
        if val is None:
            beta = (plan.beta or UNSEARCHED_BETA) if objective == "ovr" else None
            setting = Setting(plan.eta or UNSEARCHED_STEP / square, beta, plan.lam)
        else:
            settings = grid(plan, objective, n_classes, square)
            setting = settings[0]
            if len(settings) > 1:
                found = search(
                    settings,
                    search_rows(train, len(settings), n_classes, seed=plan.seed),
                    val,
                    make=make,
                    plan=plan,
                    n_classes=n_classes,
                    team=crew,
                    progress=progress,
                )
                setting, table = found.setting, found.table
        trainer = make([setting], train)
        fitted = run(trainer, train, val, plan, team=crew, progress=progress)
    return replace(fitted, table=table)


def make_trainer(
    objective: str,
    settings: list[Setting],
    rows: Rows,
    plan: Plan,
    n_classes: int,
    square: float,
) -> Trainer:
    """Return the trainer of an objective; `square` is the mean squared norm of the rows."""
    options: dict[str, Any] = {"bias_rate": BIAS_SQUARE * square, "schedule": plan.schedule}
    if objective == "ovr":
        counts = np.bincount(rows.labels, minlength=n_classes).astype(np.int64)
        return OneVsRest(settings, counts, rows.dim, loss=plan.loss, **options)
    return Joint(settings, n_classes, rows.dim, objective=objective, warp=plan.warp, **options)


def run(
    trainer: Trainer,
    train: Rows,
    val: Rows | None,
    plan: Plan,
    *,
    team: Team,
    progress: Progress,
) -> Fitted:
    """Train one setting for all epochs of the plan, or until validation accuracy stops rising."""
    n_validating = 0 if val is None else val.n_rows
    stopping = Stopping(plan.theta, plan.patience or default_patience(n_validating))
    history: list[dict[str, Any]] = []
    best = trainer.weights()
    began = time.perf_counter()
    with progress.step("Training", plan.epochs * train.n_rows, "rows") as advance:
        while trainer.epoch < plan.epochs and not stopping.done:
            trainer.run_epoch(train, seed=plan.seed, team=team, advance=advance)
            if val is None:
                continue
            (measures,) = validate(trainer, val, team=team)
            seconds = round(time.perf_counter() - began, 3)
            history.append(
                {
                    "epoch": trainer.epoch,
                    "top1": measures.at(1),
                    "top5": measures.at(5),
                    "seconds": seconds,
                }
            )
            if stopping.watch(trainer.epoch, measures):
                best = trainer.weights()
    if val is None:
        return Fitted(*trainer.weights(), trainer.settings[0], trainer.epoch)
    return Fitted(*best, trainer.settings[0], stopping.best_epoch, history)


def default_patience(n_rows: int) -> int:
    """Return how many epochs to wait for a rise: the fewer rows validate, the noisier accuracy."""
    return 8 if n_rows < 2000 else 4


def hold_out(rows: Rows, fraction: float, *, seed: int) -> tuple[Rows, Rows | None]:
    """Split off a part of each class for validation; a class with one row stays in training.

    Returns None for the second part where no class can spare a row.
    """
    order = generator(seed, "hold out").permutation(rows.n_rows)
    labels = rows.labels[order]
    by_class = order[np.argsort(labels, kind="stable")]
    sizes = np.bincount(labels)
    spared = np.minimum(np.ceil(fraction * sizes), sizes - 1).clip(0).astype(np.int64)
    starts = np.cumsum(sizes) - sizes
    held = np.concatenate(
        [by_class[s : s + n] for s, n in zip(starts, spared, strict=True)] or [by_class[:0]]
    )
    if len(held) == 0:
        return rows, None
    kept = np.setdiff1d(np.arange(rows.n_rows), held)
    return rows.select(kept), rows.select(np.sort(held))


def mean_square(rows: Rows, *, most: int = 1000, most_bytes: int = 64 << 20) -> float:
    """Return the mean squared norm of (the first of) the rows; 1 where all are zero."""
    size = max(1, min(most, rows.n_rows, most_bytes // (4 * rows.dim)))
    X = next(iter(rows.blocks(size))).X
    square = float(np.einsum("ij,ij->i", X, X, dtype=np.float64).mean())
    return square if square > 0 else 1.0
