"""The training task of SGD: a method and its rows, from which trainers are made.

A trainer is local, or uses workers: one-vs-rest in class shards, the joint objectives in rounds
over shards of rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.objectives import BINARY_LOSSES
from myriad.randomness import draw_in_ball, generator
from myriad.store import BalancedRows, Rows, ScaledRows, feature_squares, unit_variance
from myriad.training.distributed.class_shards import ClassShards, Problem
from myriad.training.distributed.rounds import JointRounds
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.settings import Setting, mean_square
from myriad.training.sgd.batches import BinaryBatches, JointBatches
from myriad.training.sgd.joint import Joint
from myriad.training.sgd.one_vs_rest import OneVsRest
from myriad.training.stopping import default_patience
from myriad.training.trainer import SettingsTrainer

if TYPE_CHECKING:
    from myriad.training.sgd.method import SGD

UNSEARCHED_ETA = 0.1
"""The learning rate where nothing is held out to search on, as a multiple of ``1 / mean |x|^2``."""
UNSEARCHED_BETA = 16.0
BIAS_SQUARE = 0.1
"""The square of the constant feature, as a fraction of the mean squared norm of the rows."""
COPIES = 3
"""Copies of the weights in memory: in training, the best so far, and one on the way to a file."""


class Task:
    """A method and the rows it is trained on.

    Attributes
    ----------
    train, val : training and validation rows.
    square : mean squared norm of the training rows.
    workers : workers that train shards; None to train in this process.
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
        """The factor that scales each feature to unit variance."""
        return unit_variance(self.train)

    @cached_property
    def moments(self) -> NDArray[np.float64]:
        """The mean square of each feature."""
        return feature_squares(self.train)

    @property
    def unit(self) -> float:
        """The unit of learning rates, from the mean squared norm of the rows."""
        if self.method.optimiser.adagrad == "none":
            return 1.0 / self.square
        return 1.0 / math.sqrt(self.square * self.train.dim)

    @property
    def default_setting(self) -> Setting:
        """The setting of the method, with default values where it has None."""
        method = self.method
        beta = (method.beta or UNSEARCHED_BETA) if method.objective == "ovr" else None
        batch = method.count_batch(self.train.n_rows)
        eta = method.eta or UNSEARCHED_ETA * self.unit * math.sqrt(batch)
        setting = Setting(eta, beta, method.lam or 0.0, method.scale or False)
        return replace(setting, t0=self.count_steps(beta)) if method.schedule.is_open else setting

    def count_steps(self, beta: float | None) -> float:
        """Return the number of steps of an epoch; for one-vs-rest, the mean over classes."""
        n_rows = self.train.n_rows
        if beta is None or self.method.batch != 1:
            return n_rows / self.method.count_batch(n_rows)
        return n_rows / self.n_classes * (1.0 + min(beta, self.n_classes - 1.0))

    @property
    def patience(self) -> int:
        """Number of epochs to wait for an increase of the accuracy."""
        n_validating = 0 if self.val is None else self.val.n_rows
        return self.method.patience or default_patience(n_validating)

    def rows_for(self, rows: Rows, setting: Setting) -> Rows:
        """Return the rows for a setting, scaled or not."""
        return ScaledRows(rows, self.scale) if setting.scale else rows

    def make(self, settings: list[Setting], rows: Rows) -> SettingsTrainer:
        """Return the trainer of some settings on some rows."""
        moments = None
        if self.method.optimiser.adagrad == "feature":
            moments = self.moments * (self.scale**2 if settings[0].scale else 1.0)
        trainer = self._make_distributed(settings, rows) or make_trainer(
            self.method, settings, rows, self.n_classes, self.square, moments=moments
        )
        start = self.method.start or start_in_ball(self.method, self.n_classes, rows.dim)
        if start is not None:
            W = start.weights / self.scale if settings[0].scale else start.weights
            trainer.begin_from(W, start.biases)
        return trainer

    def _make_distributed(self, settings: list[Setting], rows: Rows) -> SettingsTrainer | None:
        """Return a trainer that uses the workers; None if there are none or none are needed."""
        workers, method, n_classes = self.workers, self.method, self.n_classes
        if workers is None:
            return None
        options = trainer_options(method, self.square)
        if method.objective != "ovr":
            if not workers.executor.remote:
                return None
            shape = settings, n_classes, rows.dim
            return JointRounds(*shape, workers=workers, rounds=method.rounds, **options)
        small = COPIES * 4 * n_classes * rows.dim * len(settings) <= workers.memory
        if small and not workers.executor.remote:
            return None
        options["n_rows"] = rows.n_rows
        problem = Problem(tuple(settings), count_classes(rows, n_classes), rows.dim, options)
        return ClassShards(problem, workers)

    def describe_rounds(self) -> dict[str, Any]:
        """Return the settings of rounds, for `Fitted.settings`; empty without rounds."""
        workers = self.workers
        if workers is None or not workers.executor.remote or self.method.objective == "ovr":
            return {}
        return {"rounds": self.method.rounds, "row_shards": workers.executor.n_workers}

    def model(
        self, W: NDArray[np.float32], b: NDArray[np.float32], setting: Setting
    ) -> LinearModel:
        """Return the model for unscaled rows, given the weights of a setting; may change `W`."""
        if setting.scale:  # weights may be larger than the memory: no copy if possible
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
    """Return the local trainer of a method.

    Parameters
    ----------
    square : the mean squared norm of the rows.
    moments : the mean square of each feature, for AdaGrad by feature.
    counts : number of rows of each class and of all, by default as in `rows`.
    """
    options = trainer_options(method, square) | {"moments": moments}
    binary: type[OneVsRest | BinaryBatches] = OneVsRest
    joint: type[Joint | JointBatches] = Joint
    if method.batch != 1:
        binary, joint = BinaryBatches, JointBatches
        options["batch"] = method.count_batch(rows.n_rows)
    if method.objective == "ovr":
        own, n_rows = counts or (count_classes(rows, n_classes), rows.n_rows)
        trainer: LinearTrainer = binary(settings, own, rows.dim, n_rows=n_rows, **options)
    else:
        trainer = joint(settings, n_classes, rows.dim, **options)
    trainer.safe_rate = UNSEARCHED_ETA / square
    return trainer


def trainer_options(method: SGD, square: float) -> dict[str, Any]:
    """Return the options of a method that its trainer takes."""
    options = {
        "bias_rate": BIAS_SQUARE * square,
        "schedule": method.schedule,
        "optimiser": method.optimiser,
    }
    if method.objective == "ovr":
        return options | {"loss": BINARY_LOSSES[method.loss]}
    options |= {} if method.negatives is None else {"negatives": method.negatives}
    return options | {"objective": method.objective, "warp": method.warp, "k": method.k}


def start_in_ball(method: SGD, n_classes: int, dim: int) -> LinearModel | None:
    """Return initial weights drawn uniformly within the norm bound, if the method uses them."""
    if method.optimiser.init != "ball":
        return None
    draws = generator(method.seed, "start")
    W = draw_in_ball(n_classes, dim, method.optimiser.max_norm, draws)
    return LinearModel(W.astype(np.float32), np.zeros(n_classes, np.float32))


def count_classes(rows: Rows, n_classes: int) -> NDArray[np.int64]:
    """Return the number of rows of each class."""
    if rows.sets is not None:
        return rows.sets.counts(n_classes)
    return np.bincount(rows.labels[rows.labels >= 0], minlength=n_classes).astype(np.int64)
