"""From rows to weights: search the settings, train until validation accuracy stops rising."""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.store import BalancedRows, Rows, ScaledRows, feature_moments, unit_variance
from myriad.training.checkpoints import Checkpoint
from myriad.training.distributed.placement import (
    count_classes,
    spread,
    tell_rounds,
    trainer_options,
)
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.method import Fitted
from myriad.training.search import DECAY_ROWS, Candidate, Search, Searched, grid
from myriad.training.settings import Setting
from myriad.training.sgd.joint import Joint
from myriad.training.sgd.one_vs_rest import OneVsRest
from myriad.training.stopping import Stopping
from myriad.training.trainer import Trainer
from myriad.training.training_state import TrainingState
from myriad.training.validation import validate

if TYPE_CHECKING:
    from myriad.training.sgd.method import SGD

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
    workers: TrainingWorkers | None = None,
) -> Fitted:
    """Train weights by SGD; see `Method.fit`."""
    task = Task(method, train, val, n_classes, workers)
    with open_threads(threads) as pool:
        state = TrainingState(checkpoint)
        found: Searched | None = None
        if state.setting is None:
            setting, table = task.stated, []
            if val is not None and method.is_open:
                found = choose(task, val, state, pool=pool, progress=progress)
                setting, table = found.candidate.setting, found.table
            state.begin(setting, table, found)
        return run(task, state, found, pool=pool, progress=progress)


def choose(
    task: Task, val: Rows, state: TrainingState, *, pool: ThreadPool, progress: Progress
) -> Searched:
    """Search for the setting to train by."""
    method, began = task.method, time.perf_counter()
    search = Search(
        task.train,
        val,
        task.make,
        task.see,
        method,
        task.n_classes,
        task.patience,
        pool,
        progress,
        clock=lambda: time.perf_counter() - began,
    )
    found = search.run(grid(method, task.n_classes, task.unit))
    if method.lam is None and task.train.n_rows <= DECAY_ROWS:
        found = search.choose_lam(found.candidate.setting)
    state.seconds = time.perf_counter() - began if found.trainer else 0.0
    return found


class Task:
    """What a method is to do with which rows.

    Attributes
    ----------
    square : mean squared norm of the rows.
    workers : where pieces of it are done, if not here.
    """

    def __init__(
        self,
        method: SGD,
        train: Rows,
        val: Rows | None,
        n_classes: int,
        workers: TrainingWorkers | None = None,
    ) -> None:
        self.method, self.n_classes, self.workers = method, n_classes, workers
        self.train = BalancedRows(train) if method.balanced else train
        self.val = val
        self.square = mean_square(train)

    @cached_property
    def scale(self) -> NDArray[np.float32]:
        """What brings each feature to unit variance."""
        return unit_variance(self.train)

    @cached_property
    def moments(self) -> NDArray[np.float64]:
        """The mean square of each feature."""
        return feature_moments(self.train)[1]

    @property
    def unit(self) -> float:
        """The step that would undo a row's own loss."""
        if self.method.optimiser.adagrad == "none":
            return 1.0 / self.square
        return 1.0 / math.sqrt(self.square * self.train.dim)

    @property
    def stated(self) -> Setting:
        """The setting as the method states it, modest numbers in place of what it leaves open."""
        method = self.method
        beta = (method.beta or UNSEARCHED_BETA) if method.objective == "ovr" else None
        eta = method.eta or UNSEARCHED_STEP * self.unit
        return Setting(eta, beta, method.lam or 0.0, method.scale or False)

    @property
    def patience(self) -> int:
        """Epochs to wait for a rise of the accuracy."""
        n_validating = 0 if self.val is None else self.val.n_rows
        return self.method.patience or default_patience(n_validating)

    def see(self, rows: Rows, setting: Setting) -> Rows:
        """Return rows as a setting sees them."""
        return ScaledRows(rows, self.scale) if setting.scale else rows

    def make(self, settings: list[Setting], rows: Rows) -> Trainer:
        """Return what trains some settings on some rows."""
        moments = None
        if self.method.optimiser.adagrad == "feature":
            moments = self.moments * (self.scale**2 if settings[0].scale else 1.0)
        trainer = spread(
            self.workers, self.method, settings, rows, self.n_classes, self.square
        ) or make_trainer(self.method, settings, rows, self.n_classes, self.square, moments=moments)
        start = self.method.start
        if start is not None:
            W = start.weights / self.scale if settings[0].scale else start.weights
            trainer.begin_from(W, start.biases)
        return trainer

    def model(
        self, W: NDArray[np.float32], b: NDArray[np.float32], setting: Setting
    ) -> LinearModel:
        """Return the model of weights that a setting came to, for rows that are not scaled."""
        if setting.scale:  # weights may be larger than the memory
            W = np.multiply(W, self.scale, out=W if W.flags.writeable else None)
        return LinearModel(W, b)


def make_trainer(
    method: SGD,
    settings: list[Setting],
    rows: Rows,
    n_classes: int,
    square: float,
    *,
    moments: NDArray[np.float64] | None = None,
    counts: tuple[NDArray[np.int64], int] | None = None,
) -> LinearTrainer:
    """Return the trainer of a method.

    Parameters
    ----------
    square : the mean squared norm of the rows.
    moments : the mean square of each feature, for adagrad by feature.
    counts : rows of each class and of all, by default as in `rows`.
    """
    options = trainer_options(method, square) | {"moments": moments}
    if method.objective == "ovr":
        own, n_rows = counts or (count_classes(rows, n_classes), rows.n_rows)
        trainer: LinearTrainer = OneVsRest(settings, own, rows.dim, n_rows=n_rows, **options)
    else:
        trainer = Joint(settings, n_classes, rows.dim, **options)
    trainer.modest = UNSEARCHED_STEP / square
    return trainer


def run(
    task: Task,
    state: TrainingState,
    found: Searched | None,
    *,
    pool: ThreadPool,
    progress: Progress,
) -> Fitted:
    """Train one setting for all epochs, or until validation accuracy stops rising."""
    method, setting, val = task.method, state.chosen, task.val
    if found is not None and found.trainer is not None:
        trainer, stopping, best = found.trainer, found.candidate.stopping, found.candidate.best
    else:
        trainer = task.make([setting], task.train)
        stopping = Stopping(method.theta, task.patience)
        best = state.restore(trainer, stopping)
    rows, held = task.see(task.train, setting), val and task.see(val, setting)
    began = time.perf_counter() - state.seconds
    candidate = Candidate(setting, stopping, best, state.history)
    with progress.step("Training", method.epochs * rows.n_rows, "rows") as advance:
        advance(trainer.epoch * rows.n_rows)
        while trainer.epoch < method.epochs and not stopping.done:
            trainer.run_epoch(rows, seed=method.seed, pool=pool, advance=advance)
            state.seconds = time.perf_counter() - began
            if held is not None:
                (measures,) = validate(trainer, held, pool=pool)
                candidate.watch(trainer, measures, seconds=state.seconds, keep=True)
            if method.callback is not None:
                row = candidate.history[-1] if held is not None else {"epoch": trainer.epoch}
                method.callback(dict(row))
            state.keep(trainer, stopping, candidate.best, last=False)
    epochs = trainer.epoch if held is None else stopping.best_epoch
    weights = candidate.best if held is not None and candidate.best else trainer.weights()
    state.keep(trainer, stopping, weights, last=True)
    settings = setting.to_json() | method.stated_json() | tell_rounds(task.workers, method)
    return Fitted(task.model(*weights, setting), settings, epochs, candidate.history, state.table)


def default_patience(n_rows: int) -> int:
    """Return how many epochs to wait for a rise: the fewer rows validate, the noisier accuracy."""
    return 8 if n_rows < 2000 else 4


def hold_out(rows: Rows, fraction: float, *, seed: int) -> tuple[Rows, Rows | None]:
    """Split off a part of each class for validation; a class with one row stays in training.

    So do rows without a label. Returns None for the second part where no class can spare a row.
    """
    order = generator(seed, "hold out").permutation(rows.n_rows)
    order = order[rows.labels[order] >= 0]
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
