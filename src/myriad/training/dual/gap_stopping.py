"""Stopping by the duality gap: when to compute a certificate, and when it is small enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import WorkError
from myriad.models import LinearModel
from myriad.parallel import ThreadPool
from myriad.store import Rows
from myriad.training.dual.ascent import Certificate, DualTrainer
from myriad.training.stopping import Clock, Monitor, Row
from myriad.training.validation import validate

FIRST_CHECK, FIRST_FREQUENT, FIRST_RARE = 3, 6, 16
"""Epochs before the first certificate, which costs as much as a few epochs: without estimates of
the gap; with them, if certificates are frequent, and if not."""
FALLS_TO = 0.6
"""The gap at the end of an epoch as a fraction of the estimate during it, until a certificate gives
a better value."""


class GapStopping(Monitor):
    """Stops at a relative duality gap.

    Certificates are computed when the gap is expected to be small enough. Where epochs estimate it,
    further ones are computed for the history alone.

    Parameters
    ----------
    trainer : the trainer, before its first epoch with this `lam`.
    tol : the gap to stop at.
    epochs : maximum number of epochs; the last one always has a certificate.
    seconds : maximum number of seconds, or None.
    val : held-out rows to validate after each certificate, or None.
    frequent : whether to compute more certificates for the history; by default with held-out rows.
    first : the epoch of the first certificate, where epochs do not estimate the gap; 3 by default.
    """

    def __init__(
        self,
        trainer: DualTrainer,
        *,
        tol: float,
        epochs: int,
        seconds: float | None = None,
        val: Rows | None = None,
        frequent: bool | None = None,
        first: int | None = None,
    ) -> None:
        self.tol, self.epochs, self.seconds, self.val = tol, epochs, seconds, val
        self.history: list[Row] = []
        self.done = False
        self._first = trainer.epoch  # epochs of an earlier lam
        frequent = val is not None if frequent is None else frequent
        record = FIRST_FREQUENT if frequent else FIRST_RARE
        check = record if trainer.estimates else first or FIRST_CHECK
        self._check = self._first + min(check, epochs)

    @property
    def until(self) -> int:
        """The last epoch."""
        return self._first + self.epochs

    def on_epoch_end(self, trainer: DualTrainer, *, clock: Clock, pool: ThreadPool) -> Row | None:
        """Compute a certificate and validate the weights, if a certificate is due."""
        timed_out = self.seconds is not None and clock() >= self.seconds
        estimate = trainer.estimate
        near = estimate is not None and expect_gap(estimate, self.history) <= self.tol
        if trainer.epoch < self._check and not near and not timed_out:
            return None
        certificate = trainer.certify(pool)
        spent = round(clock(), 3)
        if not np.isfinite(certificate.gap):
            raise WorkError(
                f"The weights overflowed in epoch {trainer.epoch}: the rows are too large for "
                f"lam={trainer.lam:g}. Scale them to norms of about 1."
            )
        row = {"epoch": trainer.epoch - self._first, "seconds": spent, **certificate.to_json()}
        if estimate is not None:
            row["estimate"] = estimate
        if self.val is not None:
            (measures,) = validate(trainer, self.val, pool=pool)
            row |= {"top1": measures.at(1), "top5": measures.at(5)}
        self.history.append(row)
        self.done = timed_out
        self._plan(trainer)
        return row

    def result(self, trainer: DualTrainer) -> tuple[LinearModel, Row, Certificate]:
        """Return the model, the row of the history that it belongs to, and its certificate."""
        return trainer.model(), self.history[-1], trainer.certificate

    def _plan(self, trainer: DualTrainer) -> None:
        """Set `done` if the gap is small enough, else the epoch of the next certificate."""
        self.done = self.done or self.history[-1]["gap"] <= self.tol
        if not self.done:
            wait = plan_check(self.history, self.tol, trainer.estimates)
            self._check = min(self.until, trainer.epoch + wait)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the history."""
        return {"history": self.history}, {}

    def restore(
        self,
        state: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        trainer: DualTrainer,
        *,
        pool: ThreadPool,
    ) -> None:
        """Restore the history, and compute the weights of the restored variables."""
        trainer.certify(pool)
        self.history = list(state["history"])
        self._first = trainer.epoch - self.history[-1]["epoch"]
        self._plan(trainer)


def expect_gap(estimate: float, history: list[dict[str, Any]]) -> float:
    """Return the expected gap at the end of an epoch, given the estimate during it."""
    if not history or not history[-1].get("estimate"):
        return FALLS_TO * estimate
    return estimate * float(history[-1]["gap"] / history[-1]["estimate"])


def plan_check(history: list[dict[str, Any]], tol: float, estimates: bool) -> int:
    """Return the number of epochs until the next certificate.

    The gap is extrapolated at the rate between the last two certificates. Where epochs estimate the
    gap, their estimate decides when to stop, and the number of epochs doubles each time.
    """
    last = history[-1]
    if estimates:
        return int(last["epoch"])
    most = max(2, last["epoch"] // 2)
    if len(history) < 2 or not 0 < last["gap"] < history[-2]["gap"]:
        return most
    shrunk = math.log(history[-2]["gap"] / last["gap"]) / (last["epoch"] - history[-2]["epoch"])
    return max(1, min(most, math.ceil((math.log(last["gap"]) - math.log(tol)) / shrunk)))
