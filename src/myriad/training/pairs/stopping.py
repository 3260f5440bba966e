"""Early stopping of TopPush: the weights of the certificate with the best validation accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.parallel import ThreadPool
from myriad.training.dual.ascent import Certificate, DualTrainer
from myriad.training.dual.gap_stopping import GapStopping
from myriad.training.stopping import Clock, Row

PATIENCE = 3
"""Certificates without a better accuracy after which training stops; between two of them the
number of epochs grows by half."""


class EarlyGapStopping(GapStopping):
    """Stops at a gap, or when validation accuracy stops increasing; keeps the best weights."""

    def __init__(self, trainer: DualTrainer, **options: Any) -> None:
        super().__init__(trainer, **options)
        self._weights: tuple[NDArray[Any], NDArray[Any]] | None = None
        self._values = np.zeros((2, 0))

    def on_epoch_end(self, trainer: DualTrainer, *, clock: Clock, pool: ThreadPool) -> Row | None:
        """Compute a certificate if one is due; keep the weights if they are the best so far."""
        row = super().on_epoch_end(trainer, clock=clock, pool=pool)
        if row is None:
            return None
        if self._best_row() is row:
            self._weights = tuple(array.copy() for array in trainer.weights())  # type: ignore[assignment]
            self._values = np.stack([trainer.certificate.primals, trainer.certificate.duals])
        self.done = self.done or self._has_peaked()
        return row

    def result(self, trainer: DualTrainer) -> tuple[LinearModel, Row, Certificate]:
        """Return the best model, its row of the history and its certificate."""
        assert self._weights is not None
        W, b = (array.astype(np.float32) for array in self._weights)
        return LinearModel(W, b), self._best_row(), Certificate(*self._values)

    def _has_peaked(self) -> bool:
        return len(self.history) - 1 - self.history.index(self._best_row()) >= PATIENCE

    def _best_row(self) -> Row:
        return max(self.history, key=lambda row: (row["top1"], row["top5"]))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the history and the best weights."""
        state, arrays = super().state()
        if self._weights is not None:
            W, b = self._weights
            arrays |= {"best.weights": W, "best.biases": b, "best.values": self._values}
        return state, arrays

    def restore(
        self,
        state: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        trainer: DualTrainer,
        *,
        pool: ThreadPool,
    ) -> None:
        """Restore what `state` returned, and compute the weights of the restored variables."""
        super().restore(state, arrays, trainer, pool=pool)
        self._weights = arrays["best.weights"], arrays["best.biases"]
        self._values = arrays["best.values"]
        self.done = self.done or self._has_peaked()
