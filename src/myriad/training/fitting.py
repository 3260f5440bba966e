"""From rows to weights: search the settings, train until validation accuracy stops rising."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from myriad.models import LinearModel
from myriad.objectives import BINARY_LOSSES
from myriad.parallel import Team, team
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.joint import Joint
from myriad.training.journey import Journey
from myriad.training.methods import Fitted
from myriad.training.one_vs_rest import OneVsRest
from myriad.training.search import grid, search, search_rows
from myriad.training.settings import Setting
from myriad.training.stopping import Stopping
from myriad.training.trainer import Trainer
from myriad.training.validation import validate

if TYPE_CHECKING:
    from myriad.training.sgd import SGD

BIAS_SQUARE = 0.1
"""The square of the constant feature, as a part of the mean squared norm of the rows."""
UNSEARCHED_STEP = 0.1
"""The step where nothing is held out to search on, as a part of ``1 / mean |x|^2``."""
UNSEARCHED_BETA = 16.0


def fit(
    method: SGD,
    train: Rows,
    val: Rows | None,
    *,
    n_classes: int,
    threads: int | None = None,
    progress: Progress = SILENT,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Train weights by SGD; see `Method.fit`."""
    square = mean_square(train)

    def make(settings: list[Setting], rows: Rows) -> Trainer:
        return make_trainer(method, settings, rows, n_classes, square)

    with team(threads) as crew:
        journey = Journey(checkpoint)
        if journey.setting is None:
            setting, table = _choose(
                method, make, train, val, n_classes, square, team=crew, progress=progress
            )
            journey.begin(setting, table)
        return run(journey, make, train, val, method, team=crew, progress=progress)


def _choose(
    method: SGD,
    make: Callable[[list[Setting], Rows], Trainer],
    train: Rows,
    val: Rows | None,
    n_classes: int,
    square: float,
    *,
    team: Team,
    progress: Progress,
) -> tuple[Setting, list[dict[str, Any]]]:
    """Return the setting to train by, and what was tried to find it."""
    if val is None:
        beta = (method.beta or UNSEARCHED_BETA) if method.objective == "ovr" else None
        return Setting(method.eta or UNSEARCHED_STEP / square, beta, method.lam), []
    settings = grid(method, n_classes, square)
    if len(settings) == 1:
        return settings[0], []
    found = search(
        settings,
        search_rows(train, len(settings), n_classes, seed=method.seed),
        val,
        make=make,
        method=method,
        n_classes=n_classes,
        team=team,
        progress=progress,
    )
    return found.setting, found.table


def make_trainer(
    method: SGD, settings: list[Setting], rows: Rows, n_classes: int, square: float
) -> Trainer:
    """Return the trainer of a method; `square` is the mean squared norm of the rows."""
    options: dict[str, Any] = {"bias_rate": BIAS_SQUARE * square, "schedule": method.schedule}
    if method.objective == "ovr":
        counts = np.bincount(rows.labels, minlength=n_classes).astype(np.int64)
        loss = BINARY_LOSSES[method.loss]
        return OneVsRest(settings, counts, rows.dim, loss=loss, **options)
    return Joint(
        settings, n_classes, rows.dim, objective=method.objective, warp=method.warp, **options
    )


def run(
    journey: Journey,
    make: Callable[[list[Setting], Rows], Trainer],
    train: Rows,
    val: Rows | None,
    method: SGD,
    *,
    team: Team,
    progress: Progress,
) -> Fitted:
    """Train one setting for all epochs, or until validation accuracy stops rising."""
    trainer = make([journey.chosen], train)
    n_validating = 0 if val is None else val.n_rows
    stopping = Stopping(method.theta, method.patience or default_patience(n_validating))
    best = journey.restore(trainer, stopping) or trainer.weights()
    began = time.perf_counter() - journey.seconds
    with progress.step("Training", method.epochs * train.n_rows, "rows") as advance:
        advance(trainer.epoch * train.n_rows)
        while trainer.epoch < method.epochs and not stopping.done:
            trainer.run_epoch(train, seed=method.seed, team=team, advance=advance)
            if val is not None:
                (measures,) = validate(trainer, val, team=team)
                if stopping.watch(trainer.epoch, measures):
                    best = trainer.weights()
            journey.seconds = round(time.perf_counter() - began, 3)
            if val is not None:
                journey.history.append(
                    {
                        "epoch": trainer.epoch,
                        "top1": measures.at(1),
                        "top5": measures.at(5),
                        "seconds": journey.seconds,
                    }
                )
            journey.keep(trainer, stopping, best, last=False)
    epochs = trainer.epoch if val is None else stopping.best_epoch
    if val is None:
        best = trainer.weights()
    journey.keep(trainer, stopping, best, last=True)
    settings = journey.chosen.to_json() | {"schedule": method.schedule.name}
    return Fitted(LinearModel(*best), settings, epochs, journey.history, journey.table)


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
