"""Learning rate and margin of an embedding, found on validation rows by successive halving."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from myriad.errors import WorkError
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.context import RunningContext
from myriad.training.embedding.fitting import Pair, Task
from myriad.training.embedding.trainer import Embedding
from myriad.training.loop import run
from myriad.training.search import halve, subsample, title_rung
from myriad.training.stopping import AccuracyMonitor, EarlyStopping
from myriad.training.validation import validate

if TYPE_CHECKING:
    from myriad.training.embedding.method import WsabieMethod

ETAS = (0.1, 0.3, 1.0)
"""Learning rates tried with AdaGrad, as multiples of ``1 / sqrt(dim)``, the length of an embedding
in one dimension."""
FIXED_ETAS = (0.01, 0.03, 0.1, 0.3)
MARGINS = (0.003, 0.03, 0.3)
"""Margins tried, as fractions of the squared length of an embedding before training."""
RUNG_EPOCHS = (1, 4, 12)
"""Epochs after which candidates are compared. Last violators skip most rows at first, which favours
small margins, so a few epochs are not enough."""
KEEP = 1 / 3
"""Fraction of the candidates that is kept for the next rung."""


def grid(method: WsabieMethod, dim: int) -> list[Pair]:
    """Return all candidates; an option that has a value is not searched for."""
    if method.eta is not None:
        etas = [method.eta]
    elif method.options.adagrad is False:
        etas = list(FIXED_ETAS)
    else:
        etas = [float(f"{factor / math.sqrt(dim):.3g}") for factor in ETAS]
    margins = list(MARGINS) if method.margin is None else [method.margin]
    return [(eta, margin) for margin in margins for eta in etas]


def find_setting(
    task: Task, val: Rows, *, running: RunningContext
) -> tuple[Pair, list[dict[str, Any]]]:
    """Return the candidate of the best validation accuracy, and a table of all candidates.

    Threads take a candidate each. Where not all trainers fit into the memory, the others are
    trained from the start again at each rung; the result is the same, as draws and order depend on
    the epoch alone. A candidate that overflows has an accuracy of 0.
    """
    method = task.method
    candidates = grid(method, task.dim)
    if len(candidates) == 1:
        return candidates[0], []
    rows = subsample(task.train, len(candidates), task.n_classes, seed=method.seed)
    together = max(1, method.memory // (4 * (task.n_classes + rows.dim) * task.dim))
    trainers = {setting: task.make(setting) for setting in candidates[:together]}
    table: dict[Pair, dict[str, Any]] = {}
    for target in RUNG_EPOCHS:
        begun = next(iter(trainers.values())).epoch
        work = (target - begun) * len(candidates)
        with running.progress.step(title_rung(len(candidates)), work, "epochs") as advance:
            train = partial(_train_candidate, task, rows, val, trainers, table, target, advance)
            running.pool.share(train, candidates)
        # Of equally good candidates the last in the grid is the first here.
        candidates = halve(candidates[::-1], partial(_score, table), KEEP)
        trainers = {s: trainers.get(s) or task.make(s) for s in candidates[:together]}
    return candidates[0], [table[setting] for setting in grid(method, task.dim)]


def _train_candidate(
    task: Task,
    rows: Rows,
    val: Rows,
    trainers: dict[Pair, Embedding],
    table: dict[Pair, dict[str, Any]],
    target: int,
    advance: Advance,
    setting: Pair,
) -> None:
    """Train a candidate up to an epoch, and write its row of the `table`."""
    pool = ThreadPool(1, None)
    trainer = trainers.get(setting) or task.make(setting)
    top1 = top5 = 0.0
    try:
        monitor = AccuracyMonitor([EarlyStopping()], None)
        run(trainer, rows, monitor, until=target, seed=task.seed(), pool=pool, advance=advance)
        (measures,) = validate(trainer, val, pool=pool)
        top1, top5 = measures.at(1), measures.at(5)
    except WorkError:
        pass
    eta, margin = setting
    row = {"eta": eta, "margin": margin, "epochs": target, "top1": top1, "top5": top5}
    table[setting] = row


def _score(table: dict[Pair, dict[str, Any]], setting: Pair) -> tuple[float, float]:
    return table[setting]["top1"], table[setting]["top5"]
