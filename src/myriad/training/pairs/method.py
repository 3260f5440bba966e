"""TopPush and Recall@k as methods: the ranking baselines of [TK, Table 1]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.options import option
from myriad.training.dual.method import DUAL_PANEL, DualMethod, check_k, check_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.progress import Progress
    from myriad.store import Rows
    from myriad.training.context import RunningContext
    from myriad.training.dual.ascent import DualTrainer
    from myriad.training.dual.gap_stopping import GapStopping
    from myriad.training.method import Fitted
    from myriad.training.pairs.recall import RecallPlanes
    from myriad.training.pairs.toppush import TopPushAscent

WEAK_FRACTION = 1e-6
"""The lam of TopPush where the number of epochs regularises, as a fraction of the mean squared norm
of the rows."""


@dataclass(frozen=True, kw_only=True)
class PairMethod(DualMethod):
    """A method that ranks all pairs of rows and classes together; the base of both."""

    bias: float = option(
        0.0,
        minimum=0,
        command=False,
        help="Value of a constant feature (regularised bias); 0 for none.",
    )

    def untrained_loss(self, positives: NDArray[np.int64], n_rows: int) -> float:
        """Return the loss of zero scores."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class TopPush(PairMethod):
    """Positives above the highest of all negatives [TK; Li, Jin and Zhou 2014].

    A `lam` of None is a weak one, and training stops at the best accuracy on validation rows: early
    steps are more accurate than the optimum. With an explicit `lam` it is trained to the gap.

    Attributes
    ----------
    per_class : rank the rows for each class by itself (one-vs-all), not all pairs together.
    """

    titles: ClassVar[Mapping[str, str]] = {"toppush": "TopPush"}

    objective: str = "toppush"
    lam: float | None = option(
        None,
        above=0,
        words={"auto": None},
        help="Regularisation strength, or auto for early stopping instead.",
    )
    per_class: bool = option(
        False, panel=DUAL_PANEL, help="Rank the rows of each class separately (one-vs-all)."
    )

    def make(self, rows: Rows, n_classes: int, lam: float) -> TopPushAscent:
        """Return the trainer."""
        from myriad.training.pairs.toppush import TopPushAscent

        check_labels(rows, n_classes)
        return TopPushAscent(rows, n_classes, lam=lam, bias=self.bias, per_class=self.per_class)

    def monitor(self, trainer: DualTrainer, val: Rows | None) -> GapStopping:
        """Return the monitor: it stops by validation accuracy if `lam` was left open."""
        from myriad.training.pairs.stopping import EarlyGapStopping

        if self.lam is not None or val is None:
            return super().monitor(trainer, val)
        limits: dict[str, Any] = {"epochs": self.epochs, "seconds": self.seconds}
        return EarlyGapStopping(trainer, tol=self.tol, val=val, **limits)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the lam and the number of epochs that were found."""
        return replace(self, lam=fitted.settings["lam"], epochs=fitted.epochs)

    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""
        return {"per_class": True} if self.per_class else {}

    def _choose(
        self, train: Rows, val: Rows | None, n_classes: int, running: RunningContext
    ) -> tuple[float, list[dict[str, Any]]]:
        from myriad.training.settings import mean_square

        if self.lam is not None:
            return self.lam, []
        return WEAK_FRACTION * (mean_square(train) + self.bias**2), []

    def _warn(self, last: dict[str, Any], progress: Progress) -> None:
        if self.lam is not None:
            super()._warn(last, progress)


@dataclass(frozen=True, kw_only=True)
class Recall(PairMethod):
    """The positives among the k n best pairs, by cutting planes [TK; Joachims 2005].

    Attributes
    ----------
    k : pairs that may be predicted for each row, on average; 1 to C - 1.
    batch : rows that are ranked together, at most; None for all. The loss is the mean over the
        batches, which is at most that of all rows, and memory does not depend on their number.
    """

    titles: ClassVar[Mapping[str, str]] = {"recall": "Recall@k"}

    objective: str = "recall"
    k: int = option(1, minimum=1, panel=DUAL_PANEL, help="The k of the top-k loss.")
    batch: int | None = option(
        None,
        minimum=1,
        words={"all": None},
        panel=DUAL_PANEL,
        help="Number of rows whose pairs are ranked together, or all.",
    )

    def make(self, rows: Rows, n_classes: int, lam: float) -> RecallPlanes:
        """Return the trainer."""
        from myriad.training.pairs.recall import RecallPlanes

        check_k(self.k, n_classes)
        check_labels(rows, n_classes)
        options: dict[str, Any] = {"k": self.k, "batch": self.batch, "seed": self.seed}
        return RecallPlanes(rows, n_classes, lam=lam, bias=self.bias, **options)

    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""
        return {"k": self.k} | ({} if self.batch is None else {"batch": self.batch})
