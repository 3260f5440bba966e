"""Incremental training (`partial_fit`) on batches of rows, which may add classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.models import LinearModel
from myriad.store import Rows
from myriad.training.context import Context
from myriad.training.engine.linear_trainer import LinearTrainer
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import Task, count_classes, make_trainer, start_in_ball
from myriad.training.sgd.method import SGD


@dataclass(frozen=True, eq=False)
class IncrementalTraining:
    """The state of `partial_fit` between two batches.

    Attributes
    ----------
    setting : the setting used.
    square, moments : mean squared norm of the first batch, and mean squares of its features.
    counts : number of rows of each class so far, and `n_rows` of all.
    trainer : the trainer, with the current weights.
    """

    method: SGD
    setting: Setting
    square: float
    moments: NDArray[np.float64] | None
    counts: NDArray[np.int64]
    n_rows: int
    trainer: LinearTrainer

    @classmethod
    def begin(cls, method: SGD, rows: Rows, n_classes: int, start: LinearModel | None) -> Self:
        """Return the state for the first batch, from a model or from zero."""
        if method.scale:
            raise InputError("partial_fit cannot scale features: it does not see all rows at once.")
        task = Task(replace(method, scale=False), rows, None, n_classes)
        feature = method.optimiser.adagrad == "feature"
        moments = task.moments if feature else None
        counts = np.zeros(n_classes, np.int64)
        trainer = make_trainer(
            method, [task.default_setting], rows, n_classes, task.square, moments=moments
        )
        start = start or start_in_ball(method, n_classes, rows.dim)
        if start is not None:
            W = np.zeros((n_classes, rows.dim), np.float32)
            b = np.zeros(n_classes, np.float32)
            W[: start.n_classes], b[: start.n_classes] = start.weights, start.biases
            trainer.begin_from(W, b)
        return cls(method, task.default_setting, task.square, moments, counts, 0, trainer)

    def run(self, rows: Rows, n_classes: int, *, context: Context) -> Self:
        """Train for one epoch on a batch; return the state after it."""
        counts = count_classes(rows, n_classes)
        counts[: len(self.counts)] += self.counts
        n_rows = self.n_rows + rows.n_rows
        trainer = make_trainer(
            self.method,
            [self.setting],
            rows,
            n_classes,
            self.square,
            moments=self.moments,
            counts=(counts, n_rows),
        )
        trainer.copy_from(self.trainer)
        with context.open() as running:
            trainer.run_epoch(
                rows, seed=self.method.seed, pool=running.pool, advance=lambda n: None
            )
        return replace(self, counts=counts, n_rows=n_rows, trainer=trainer)

    @property
    def model(self) -> LinearModel:
        """The current model."""
        return LinearModel(*self.trainer.weights())

    @property
    def settings(self) -> dict[str, Any]:
        """The setting and the options, as plain JSON."""
        return self.setting.to_json() | self.method.options_json()
