"""The step and the margin of an embedding, found on validation rows by successive halving."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from myriad.errors import WorkError
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.embedding.fitting import Pair, Task, model_of, validate
from myriad.training.embedding.trainer import Embedding
from myriad.training.search import part_of

if TYPE_CHECKING:
    from myriad.training.embedding.method import WsabieMethod

STEPS = (0.1, 0.3, 1.0)
"""Steps tried with adagrad, times the length of an embedding in one dimension, 1 / sqrt(dim)."""
FIXED_STEPS = (0.01, 0.03, 0.1, 0.3)
MARGINS = (0.003, 0.03, 0.3)
"""Margins tried, as parts of the squared length of an embedding at the beginning."""
RUNG_EPOCHS = (1, 4, 12)
"""Epochs a setting has been trained for when it is judged; few would do but for last violators,
which pass over most rows at first and so make small margins look good."""
KEEP = 1 / 3
"""The part of the settings that goes on to the next rung."""


def grid(method: WsabieMethod, dim: int) -> list[Pair]:
    """Return the steps and margins to try; a number that the method states is not searched."""
    if method.eta is not None:
        steps = [method.eta]
    elif method.options.adagrad is False:
        steps = list(FIXED_STEPS)
    else:
        steps = [float(f"{step / math.sqrt(dim):.3g}") for step in STEPS]
    margins = list(MARGINS) if method.margin is None else [method.margin]
    return [(eta, margin) for margin in margins for eta in steps]


def find_setting(task: Task, val: Rows, *, pool: ThreadPool) -> tuple[Pair, list[dict[str, Any]]]:
    """Return the step and the margin of the best validation accuracy, and all that were tried.

    Threads take a setting each. Where not all embeddings fit into the memory, those left out are
    trained anew at each rung: draws and order are functions of the epoch, so that changes nothing
    but the time. A setting that overflows is the worst of all.
    """
    method = task.method
    alive = grid(method, task.dim)
    if len(alive) == 1:
        return alive[0], []
    rows = part_of(task.train, len(alive), task.n_classes, seed=method.seed)
    together = max(1, method.memory // (4 * (task.n_classes + task.n_features) * task.dim))
    trainers = {setting: task.make(setting) for setting in alive[:together]}
    table: dict[Pair, dict[str, Any]] = {}
    for target in RUNG_EPOCHS:
        begun = next(iter(trainers.values())).epoch
        work = (target - begun) * rows.n_rows * len(alive)
        with task.progress.step(f"Trying {len(alive)} settings", work, "rows") as advance:
            pool.share(partial(attempt, task, rows, val, trainers, table, target, advance), alive)
        alive.sort(key=lambda setting: (table[setting]["top1"], table[setting]["top5"]))
        alive = alive[::-1][: max(2, math.ceil(len(alive) * KEEP))]
        trainers = {s: trainers.get(s) or task.make(s) for s in alive[:together]}
    return alive[0], [table[setting] for setting in grid(method, task.dim)]


def attempt(
    task: Task,
    rows: Rows,
    val: Rows,
    trainers: dict[Pair, Embedding],
    table: dict[Pair, dict[str, Any]],
    target: int,
    advance: Advance,
    setting: Pair,
) -> None:
    """Train a setting up to an epoch, and write its row of the `table`."""
    alone = ThreadPool(1, None)
    trainer = trainers.get(setting) or task.make(setting)
    top1 = top5 = 0.0
    try:
        while trainer.epoch < target:
            task.run_epoch(trainer, rows, pool=alone, advance=advance)
        measures = validate(model_of(trainer, task.method.options), val, pool=alone)
        top1, top5 = measures.at(1), measures.at(5)
    except WorkError:
        pass
    eta, margin = setting
    row = {"eta": eta, "margin": margin, "epochs": target, "top1": top1, "top5": top5}
    table[setting] = row
