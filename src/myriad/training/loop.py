"""The training loop: epoch, validation, checkpoint, until the monitor stops it.

Every method is trained by `run`, in a search as well as for the final model. Methods differ in the
trainer, which runs the epochs, and the monitor, which measures them and decides when to stop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from myriad.parallel import ThreadPool
from myriad.progress import SILENT, Advance, Progress
from myriad.store import Rows
from myriad.training.checkpoints import TrainingState
from myriad.training.stopping import Clock, Monitor
from myriad.training.trainer import EpochTrainer

Callback = Callable[[dict[str, Any]], None]


def run(
    trainer: EpochTrainer,
    rows: Rows,
    monitor: Monitor,
    *,
    until: int,
    seed: int,
    pool: ThreadPool,
    clock: Clock | None = None,
    advance: Advance | None = None,
    progress: Progress = SILENT,
    title: str = "Training",
    callback: Callback | None = None,
    state: TrainingState | None = None,
) -> None:
    """Train until the monitor is done, or until an epoch.

    Parameters
    ----------
    trainer : the trainer; its weights are changed.
    rows : the training rows.
    monitor : measures epochs, keeps the history, and stops the training.
    until : the number of the last epoch.
    seed : seed of the order of the rows and of all random draws.
    pool : the threads.
    clock : returns the seconds since the start of training; by default it starts now.
    progress : shows the epochs as a step called `title`, and the rows of each as a step inside it.
    advance : called with 1 after each epoch, instead of the step of the epochs.
    callback : called with a copy of each row of the history.
    state : writes a checkpoint after an epoch that was measured, when one is due.
    """
    clock = clock or start_clock()
    counting = nullcontext(advance) if advance else progress.step(title, until, "epochs")
    with counting as count_epochs:
        if advance is None:
            count_epochs(trainer.epoch)
        while trainer.epoch < until and not monitor.done:
            name = f"Epoch {trainer.epoch + 1:,}"
            with progress.step(name, rows.n_rows, "rows") as count_rows:
                trainer.run_epoch(rows, seed=seed, pool=pool, advance=count_rows)
            count_epochs(1)
            row = monitor.on_epoch_end(trainer, clock=clock, pool=pool)
            if row is None:
                continue
            if callback is not None:
                callback(dict(row))
            if state is not None:
                state.save_if_due(trainer, monitor, seconds=clock())


def start_clock(spent: float = 0.0) -> Clock:
    """Return a clock that starts at the seconds spent before an interruption."""
    began = time.perf_counter() - spent
    return lambda: time.perf_counter() - began
