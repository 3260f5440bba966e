"""Where weights are trained: here, or in pieces by the workers of a workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives import BINARY_LOSSES
from myriad.store import Rows
from myriad.training.distributed.class_shards import ClassShards, Problem
from myriad.training.distributed.rounds import JointRounds
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.settings import Setting
from myriad.training.trainer import Trainer

if TYPE_CHECKING:
    from myriad.training.sgd.method import SGD

BIAS_SQUARE = 0.1
"""The square of the constant feature, as a part of the mean squared norm of the rows."""
COPIES = 3
"""Weights in training, their best so far, and a copy on the way."""


def spread(
    workers: TrainingWorkers | None,
    method: SGD,
    settings: list[Setting],
    rows: Rows,
    n_classes: int,
    square: float,
) -> Trainer | None:
    """Return what trains settings by the workers of a workers; None where that is better done here.

    Parameters
    ----------
    square : the mean squared norm of the rows.
    """
    if workers is None:
        return None
    options = trainer_options(method, square)
    if method.objective != "ovr":
        if not workers.executor.remote:
            return None
        shape = settings, n_classes, rows.dim
        return JointRounds(*shape, workers=workers, rounds=method.rounds, **options)
    small = COPIES * 4 * n_classes * rows.dim * len(settings) <= workers.memory
    if small and not workers.executor.remote:
        return None
    counts = count_classes(rows, n_classes)
    options["n_rows"] = rows.n_rows
    return ClassShards(Problem(tuple(settings), counts, rows.dim, options), workers)


def tell_rounds(workers: TrainingWorkers | None, method: SGD) -> dict[str, Any]:
    """Return what weights depend on where they are the mean of several, as plain JSON."""
    if workers is None or not workers.executor.remote or method.objective == "ovr":
        return {}
    return {"rounds": method.rounds, "row_shards": workers.executor.n_workers}


def trainer_options(method: SGD, square: float) -> dict[str, Any]:
    """Return what a trainer is told of a method."""
    options = {
        "bias_rate": BIAS_SQUARE * square,
        "schedule": method.schedule,
        "optimiser": method.optimiser,
    }
    if method.objective == "ovr":
        return options | {"loss": BINARY_LOSSES[method.loss]}
    return options | {"objective": method.objective, "warp": method.warp}


def count_classes(rows: Rows, n_classes: int) -> NDArray[np.int64]:
    """Return how many rows each class has."""
    if rows.sets is not None:
        return rows.sets.counts(n_classes)
    return np.bincount(rows.labels[rows.labels >= 0], minlength=n_classes).astype(np.int64)
