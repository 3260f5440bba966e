"""Monitors of the training loop: they measure epochs and decide when training stops.

A monitor is called after each epoch. It decides whether to validate, appends a row to the history,
records the best epoch, and decides when training is done. Its state is part of a checkpoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from numpy.typing import NDArray

from myriad.measures import Measures
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.trainer import Trainer, Weights
from myriad.training.validation import validate

Row = dict[str, Any]
Clock = Callable[[], float]
"""Returns the seconds since training began, those before an interruption included."""


class Monitor(ABC):
    """Decides when training stops; the base class.

    Attributes
    ----------
    history : a row for each epoch that was measured.
    done : whether training stops here.
    """

    history: list[Row]
    done: bool

    @abstractmethod
    def on_epoch_end(self, trainer: Any, *, clock: Clock, pool: ThreadPool) -> Row | None:
        """Measure the epoch that a trainer has just finished, if a measurement is due.

        Returns the row of the history, or None if nothing was measured.
        """

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state for a checkpoint: plain JSON, and arrays."""

    @abstractmethod
    def restore(
        self,
        state: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        trainer: Any,
        *,
        pool: ThreadPool,
    ) -> None:
        """Restore the state that `state` returned, after the trainer was restored."""


SMOOTHED_EPOCHS = 3
"""Epochs whose mean accuracy is compared: that of a single epoch is noisy, and the maximum of many
noisy values is biased upwards."""


@dataclass
class EarlyStopping:
    """Early stopping of one setting by smoothed validation accuracy [GP, 4.2].

    Attributes
    ----------
    theta : minimum increase of top-1 accuracy, in percentage points.
    patience : number of epochs without an increase after which training stops.
    best : the best smoothed (top-1, top-5) seen; top-5 decides between equals.
    best_epoch : the best epoch, -1 before the first.
    best_weights : the weights and biases of that epoch, None where they were not kept.
    history : a row for each epoch.
    """

    theta: float = 0.0
    patience: int = 8
    best: tuple[float, float] = (-1.0, -1.0)
    best_epoch: int = -1
    best_weights: Weights | None = field(default=None, repr=False)
    history: list[Row] = field(default_factory=list, repr=False)
    _recent: list[tuple[float, float]] = field(default_factory=list, repr=False)
    _raised: float = field(default=-1.0, repr=False)
    _since: int = field(default=0, repr=False)

    def watch(self, epoch: int, measures: Measures) -> bool:
        """Record the accuracies of an epoch; return whether they are the best so far, smoothed."""
        self._recent = [*self._recent, (measures.at(1), measures.at(5))][-SMOOTHED_EPOCHS:]
        score = (fmean(top1 for top1, _ in self._recent), fmean(top5 for _, top5 in self._recent))
        if score[0] > self._raised + self.theta or self._raised < 0:
            self._raised, self._since = score[0], 0
        else:
            self._since += 1
        if score <= self.best:
            return False
        self.best, self.best_epoch, self.best_weights = score, epoch, None
        return True

    @property
    def done(self) -> bool:
        """Whether accuracy has stopped increasing."""
        return self._since >= self.patience

    def keep_best(self, trainer: Trainer, number: int = 0) -> None:
        """Copy the weights of a setting if this epoch is the best one."""
        if self.best_weights is None and self.best_epoch == trainer.epoch:
            self.best_weights = trainer.weights(number)


class AccuracyMonitor(Monitor):
    """Validates each setting of a trainer after every epoch.

    Parameters
    ----------
    rules : one for each setting of the trainer.
    val : held-out rows, preprocessed for these settings; None for no validation.
    keep : whether the weights of the best epoch are copied.
    stops : whether training stops early; the first rule decides.
    """

    def __init__(
        self,
        rules: Sequence[EarlyStopping],
        val: Rows | None,
        *,
        keep: bool = True,
        stops: bool = True,
    ) -> None:
        self.rules, self._val, self._keep, self._stops = list(rules), val, keep, stops

    @property
    def history(self) -> list[Row]:  # type: ignore[override]
        """The epochs of the first setting."""
        return self.rules[0].history

    @property
    def done(self) -> bool:  # type: ignore[override]
        """Whether training stops here."""
        return self._stops and self.rules[0].done

    def on_epoch_end(self, trainer: Trainer, *, clock: Clock, pool: ThreadPool) -> Row | None:
        """Validate the epoch; without held-out rows the row has its number alone."""
        if self._val is None:
            return {"epoch": trainer.epoch}
        seconds = round(clock(), 3)
        measured = validate(trainer, self._val, pool=pool)
        for number, (rule, measures) in enumerate(zip(self.rules, measured, strict=True)):
            top1, top5 = measures.at(1), measures.at(5)
            row = {"epoch": trainer.epoch, "top1": top1, "top5": top5, "seconds": seconds}
            rule.history.append(row | trainer.epoch_statistics())
            rule.watch(trainer.epoch, measures)
            if self._keep:
                rule.keep_best(trainer, number)
        return self.history[-1]

    def final_weights(self, trainer: Trainer) -> tuple[Weights, int]:
        """Return the best weights, or the last ones without validation, and their epoch.

        They are stored as the best ones, for a checkpoint of the finished training.
        """
        rule = self.rules[0]
        if self._val is None or rule.best_weights is None:
            rule.best_weights = trainer.weights()
        return rule.best_weights, trainer.epoch if self._val is None else rule.best_epoch

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the rule of the first setting, its history and its best weights."""
        rule = self.rules[0]
        state = {
            "best": rule.best,
            "best_epoch": rule.best_epoch,
            "recent": rule._recent,
            "raised": rule._raised,
            "since": rule._since,
            "history": rule.history,
        }
        weights = rule.best_weights or ()
        return state, {f"best.{number}": array for number, array in enumerate(weights)}

    def restore(
        self,
        state: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        trainer: Trainer,
        *,
        pool: ThreadPool,
    ) -> None:
        """Restore the state that `state` returned."""
        rule = self.rules[0]
        top1, top5 = state["best"]
        rule.best, rule.best_epoch = (top1, top5), state["best_epoch"]
        rule._recent = [(top1, top5) for top1, top5 in state["recent"]]
        rule._raised, rule._since = state["raised"], state["since"]
        rule.history = list(state["history"])
        if "best.0" in arrays:
            rule.best_weights = arrays["best.0"], arrays["best.1"]


def default_patience(n_rows: int) -> int:
    """Return the default patience: longer with few validation rows, whose accuracy is noisier."""
    return 8 if n_rows < 2000 else 4
