"""The base class of methods that train in the dual, with a certificate.

They train until a certificate proves that they are within `tol` of the optimum. An open `lam` is
searched along a path from strong to weak; each value continues from the variables of the one
before.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.options import option
from myriad.training.context import Context, RunningContext
from myriad.training.method import CentringMethod, Fitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.progress import Progress
    from myriad.store import Rows
    from myriad.training.distributed.workers import TrainingWorkers
    from myriad.training.dual.ascent import Certificate, DualTrainer
    from myriad.training.dual.gap_stopping import GapStopping
    from myriad.training.stopping import Row

DUAL_PANEL = "Solvers with a duality gap: topk, dual, primal, toppush, recall"
MAX_BIAS = 1e17
"""As large as the rows that are accepted may be; its square is within float32."""
LAM_FRACTIONS = tuple(10 ** (-half / 2) for half in range(1, 17))
"""Values of lam tried, in half decades, as fractions of the mean squared norm of the rows."""
UNSEARCHED_FRACTION = 1e-3
SEARCH_TOL, SEARCH_EPOCHS = 1e-2, 20
WORSE_IN_A_ROW = 3
"""The path ends after this many values of lam without a better accuracy."""
PERFECT = 100.0
LEARNED = 0.9
"""Values of lam only count for this if the objective is below this fraction of the loss of an
untrained model: otherwise `lam` outweighs the rows, and accuracies differ by chance."""
FLOAT32_TOL = 1e-5
"""Below this tolerance training needs float64."""


@dataclass(frozen=True)
class CertifiedFit(Fitted):
    """A trained model with its certificate."""

    certificate: Certificate = field(kw_only=True)


@dataclass(frozen=True, kw_only=True)
class DualMethod(CentringMethod):
    """Training in the dual with a certificate; the base class.

    Options are described on their fields; a `lam` of None is searched for.

    Attributes
    ----------
    takes_several_labels : whether rows may have several labels each.
    first_check : the epoch of the first certificate; None for the default of `GapStopping`.
    """

    takes_several_labels: ClassVar[bool] = False

    lam: float | None = option(
        None,
        above=0,
        words={"auto": None},
        help="Regularisation strength (weight decay), or auto to search for it.",
    )
    tol: float = option(
        1e-3,
        above=0,
        below=1,
        panel=DUAL_PANEL,
        help="Tolerance: relative duality gap at which training stops.",
    )
    epochs: int = option(300, minimum=1, help="Maximum number of epochs (passes over the rows).")
    seconds: float | None = option(
        None,
        above=0,
        maximum=math.inf,
        command=False,
        help="Maximum training time in seconds, after which training stops at the current gap.",
    )
    bias: float | None = option(
        None,
        minimum=0,
        maximum=MAX_BIAS,
        words={"auto": None},
        command=False,
        help="Value of a constant feature (regularised bias), or auto for the root mean square "
        "norm of the rows; 0 for none.",
    )
    first_check: int | None = field(default=None, repr=False)

    @property
    def is_open(self) -> bool:
        """Whether lam is left to be searched for."""
        return self.lam is None

    @property
    def dtype(self) -> Any:
        """The precision of training: float64 if the tolerance is too small for float32."""
        import numpy as np

        return np.float32 if self.tol >= FLOAT32_TOL else np.float64

    def find_bias(self, rows: Rows) -> float:
        """Return the value of the constant feature.

        Where it is as large as a row, biases are regularised as little as weights are, whatever
        the scale of the rows.
        """
        from myriad.training.settings import mean_square

        return float(f"{math.sqrt(mean_square(rows)):.3g}") if self.bias is None else self.bias

    @abstractmethod
    def make(self, rows: Rows, n_classes: int, lam: float) -> DualTrainer:
        """Return the trainer of all classes in this process."""

    def trainer(
        self, rows: Rows, n_classes: int, lam: float, workers: TrainingWorkers | None = None
    ) -> DualTrainer:
        """Return the trainer; one that uses the workers if the method supports them."""
        return self.make(rows, n_classes, lam)

    def monitor(self, trainer: DualTrainer, val: Rows | None) -> GapStopping:
        """Return the monitor that stops the training."""
        from myriad.training.dual.gap_stopping import GapStopping

        return GapStopping(
            trainer,
            tol=self.tol,
            epochs=self.epochs,
            seconds=self.seconds,
            val=val,
            first=self.first_check,
        )

    @abstractmethod
    def untrained_loss(self, positives: NDArray[np.int64], n_rows: int) -> float:
        """Return the loss of a model whose scores do not depend on the row.

        Parameters
        ----------
        positives : int64 array of shape (n_classes,), the number of rows of each class.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings of this method for `Fitted.settings`, without lam and tol."""

    def _fit(
        self, train: Rows, val: Rows | None, *, n_classes: int, context: Context
    ) -> CertifiedFit:
        """Train on rows as they are."""
        from myriad.training.checkpoints import TrainingState
        from myriad.training.engine.span import find_span
        from myriad.training.loop import run, start_clock

        if train.sets is not None and not self.takes_several_labels:
            raise InputError(
                f"The objective {self.objective} takes rows with one label each; of those with a "
                "certificate, dual takes several."
            )
        if train.weights is not None:
            raise InputError(f"The objective {self.objective} does not support sample weights.")
        with context.open() as running:
            span = None
            if self._is_cheaper_in_span(train, n_classes, running):
                span = find_span(train, running)
                train, val = span.rows, val and span.project(val, running)
            state = TrainingState(running.checkpoint)
            if not state.facts:
                lam, table = self._choose(train, val, n_classes, running)
                state.facts = {"lam": lam, "table": table}
                state.save()
            lam, table = state.facts["lam"], state.facts["table"]
            trainer = self.trainer(train, n_classes, lam, running.workers)
            monitor = self.monitor(trainer, val)
            state.resume(trainer, monitor, pool=running.pool)
            run(
                trainer,
                train,
                monitor,
                until=monitor.until,
                seed=self.seed,
                pool=running.pool,
                clock=start_clock(state.seconds),
                progress=running.progress,
                title=f"Training to a duality gap of {self.tol:g}",
                state=state,
            )
            model, row, certificate = monitor.result(trainer)
            if span is not None:
                model = span.expand(model, running.pool)
        self._warn(row, context.progress)
        reached = {n: float(f"{row[n]:.6g}") for n in ("gap", "primal", "dual")}
        found = {"lam": lam, "bias": self.find_bias(train), "tol": self.tol}
        settings = self.describe() | found | reached
        return CertifiedFit(
            model,
            settings,
            row["epoch"],
            monitor.history,
            table,
            certificate=certificate,
        )

    def _is_cheaper_in_span(self, rows: Rows, n_classes: int, running: RunningContext) -> bool:
        """Return whether training in the span of the rows is exact enough and cheaper."""
        import numpy as np

        from myriad.training.engine.span import is_span_cheaper

        exact = running.workers is None and self.dtype == np.float32
        return exact and is_span_cheaper(rows.n_rows, rows.dim, n_classes)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the lam that was found."""
        return replace(self, lam=fitted.settings["lam"])

    def _warn(self, last: dict[str, Any], progress: Progress) -> None:
        if last["gap"] > self.tol:
            progress.note(
                f"Training ended after {last['epoch']} epochs with a relative duality gap of "
                f"{last['gap']:.2g}, above {self.tol:g}: allow more epochs, or use a larger lam."
            )

    def _choose(
        self, train: Rows, val: Rows | None, n_classes: int, running: RunningContext
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the lam to train with, and a table of the values tried."""
        from myriad.training.search import smooth, subsample

        if self.lam is not None:
            return self.lam, []
        if val is None:
            return UNSEARCHED_FRACTION * self._mean_square(train), []
        some = subsample(train, len(LAM_FRACTIONS), n_classes, seed=self.seed)
        path = self.list_lams(train)
        table = self.follow_path(path, some, val, n_classes, running=running)
        smoothed = smooth([row["top1"] for row in table])
        best = table[smoothed.index(max(smoothed))]  # of equal ones the most regularised
        # The loss is a mean over rows: lam is inversely proportional to their number.
        return best["lam"] * some.n_rows / train.n_rows, table

    def list_lams(self, rows: Rows) -> list[float]:
        """Return the path of lam that is searched, from strong to weak."""
        square = self._mean_square(rows)
        return [float(f"{fraction * square:.3g}") for fraction in LAM_FRACTIONS]

    def _mean_square(self, rows: Rows) -> float:
        """Return the mean squared norm of rows, the constant feature included."""
        from myriad.training.settings import mean_square

        return mean_square(rows) + self.find_bias(rows) ** 2

    def follow_path(
        self,
        path: list[float],
        rows: Rows,
        val: Rows,
        n_classes: int,
        *,
        running: RunningContext,
    ) -> list[dict[str, Any]]:
        """Train along a path of lam to a large gap; return the accuracy of each value as a table.

        Each value continues from the variables of the one before. The path ends once accuracy is
        perfect or has peaked, not counting values so large that nothing is learned.
        """
        from myriad.training.search import has_peaked
        from myriad.training.validation import validate

        table: list[dict[str, Any]] = []
        counts = rows.all_labels.counts(n_classes)
        learned = LEARNED * self.untrained_loss(counts, rows.n_rows)
        scores: list[tuple[float, float]] = []

        def measure(trainer: DualTrainer, row: Row) -> bool:
            (found,) = validate(trainer, val, pool=running.pool)
            primal, score = row.pop("primal"), (found.at(1), found.at(5))
            table.append(row | {"top1": score[0], "top5": score[1]})
            if primal < learned or score > max(scores, default=(-1.0, -1.0)):
                scores.append(score)
            return score[0] == PERFECT or has_peaked(scores, WORSE_IN_A_ROW)

        self.walk_path(path, rows, n_classes, measure, running=running)
        return table

    def walk_path(
        self,
        path: list[float],
        rows: Rows,
        n_classes: int,
        measure: Callable[[DualTrainer, Row], bool],
        *,
        running: RunningContext,
    ) -> None:
        """Train with each lam of a path to a large gap, from the variables of the one before.

        Parameters
        ----------
        measure : called with the trainer and a row of the ``lam``, ``epochs``, ``gap`` and
            ``primal`` value reached; returns whether the path ends there.
        """
        from myriad.training.dual.gap_stopping import GapStopping
        from myriad.training.loop import run

        trainer = self.trainer(rows, n_classes, path[0], running.workers)
        tol, epochs = max(self.tol, SEARCH_TOL), min(self.epochs, SEARCH_EPOCHS)
        with running.progress.step("Searching for lam", len(path), "values") as advance:
            for lam in path:
                trainer.change_lam(lam)
                monitor = GapStopping(trainer, tol=tol, epochs=epochs, seconds=self.seconds)
                until, pool = monitor.until, running.pool
                run(trainer, rows, monitor, until=until, seed=self.seed, pool=pool)
                last = monitor.history[-1]
                row = {"lam": lam, "epochs": last["epoch"]}
                ends = measure(trainer, row | {"gap": last["gap"], "primal": last["primal"]})
                advance(1)
                if ends:
                    break


def check_labels(rows: Rows, n_classes: int) -> None:
    """Raise `InputError` unless every row has a class as its label; of several, all are classes."""
    labels = rows.labels if rows.sets is None else rows.sets.classes
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError("Every row that is trained on needs one of the classes as its label.")


def check_k(k: int, n_classes: int) -> None:
    """Raise `InputError` unless `k` is less than the number of classes."""
    if k >= n_classes:
        raise InputError(
            f"k is {k}, but there are {n_classes} classes: it must be at most {n_classes - 1}."
        )
