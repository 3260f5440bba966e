"""Training in the dual: what the top-k SVM and one-vs-rest in the dual share, as methods.

Both train until a certificate says that they are within `tol` of the optimum. A `lam` left open is
searched along a path from strong to weak, each step going on from the variables of the one before.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.measures import Measures, Truths, measure
from myriad.models import LinearModel, Model
from myriad.parallel import ThreadPool, open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.dual.ascent import Ascending, Ascent, Certificate, ascend
from myriad.training.method import Fitted, Method
from myriad.training.search import part_of
from myriad.training.sgd.fitting import mean_square

LAM_PARTS = tuple(10 ** (-half / 2) for half in range(1, 14))
"""Values of lam tried, in half decades, as parts of the mean squared norm of the rows."""
UNSEARCHED_PART = 1e-3
SEARCH_TOL, SEARCH_EPOCHS = 1e-2, 20
WORSE_IN_A_ROW = 3
"""After so many values of lam without a better accuracy the path ends."""
LEARNED = 0.9
"""Those values count only where the objective is below this part of the loss before any training:
above it `lam` outweighs the rows, and accuracies differ by chance."""
FLOAT32_TOL = 1e-5
"""Below this tolerance training needs float64."""


@dataclass(frozen=True)
class Certified(Fitted):
    """A model with the certificate of how near it is to the optimum."""

    certificate: Certificate = field(kw_only=True)


@dataclass(frozen=True, kw_only=True)
class DualMethod(Method):
    """Training in the dual with a certificate; the base of both.

    Attributes
    ----------
    lam : weight of the squared norm, or None to search for it.
    tol : the relative duality gap at which training stops.
    epochs : the most passes over the rows.
    seconds : the most seconds, or None; training then stops with the gap that it has.
    bias : value of a constant feature, regularised like the others; 0 for none.
    """

    lam: float | None = None
    tol: float = 1e-3
    epochs: int = 300
    seconds: float | None = None
    bias: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lam is not None and not 0 < self.lam < math.inf:
            raise InputError(f"lam must be a number above 0, not {self.lam!r}.")
        if not 0 < self.tol < 1:
            raise InputError(f"tol must lie between 0 and 1, not {self.tol!r}.")
        if self.epochs < 1:
            raise InputError(f"epochs must be at least 1, not {self.epochs}.")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"seconds must be positive, not {self.seconds!r}.")
        if not 0 <= self.bias < math.inf:
            raise InputError(f"bias must be a number from 0 on, not {self.bias!r}.")

    @property
    def is_open(self) -> bool:
        """Whether lam is left to be searched."""
        return self.lam is None

    @property
    def dtype(self) -> Any:
        """The precision of training: what the tolerance needs."""
        return np.float32 if self.tol >= FLOAT32_TOL else np.float64

    @abstractmethod
    def make(self, rows: Rows, n_classes: int, lam: float) -> Ascent:
        """Return the dual variables to train."""

    def make_at(
        self, workers: TrainingWorkers | None, rows: Rows, n_classes: int, lam: float
    ) -> Ascending:
        """Return the dual variables to train, by the workers of a workers where there is one."""
        return self.make(rows, n_classes, lam)

    @abstractmethod
    def untrained_loss(self, labels: NDArray[np.int32], n_classes: int) -> float:
        """Return the loss of a model that has learned nothing from the rows."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings that are the method's own."""

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
        workers: TrainingWorkers | None = None,
    ) -> Certified:
        """Train on rows; see `Method.fit`."""
        if train.sets is not None:
            raise InputError(f"The objective {self.objective} takes rows with one label each.")
        if train.weights is not None:
            raise InputError(f"The objective {self.objective} counts all rows alike: no weights.")
        kept = checkpoint.load() if checkpoint is not None else None
        state: dict[str, Any] = kept[0] if kept else {}
        with open_threads(threads) as pool:
            if "lam" not in state:
                lam, table = self._choose(train, val, n_classes, pool, progress, workers)
                state = {"lam": lam, "table": table, "history": [], "epoch": 0}
            ascent = self.make_at(workers, train, n_classes, state["lam"])
            if kept and state["history"]:
                ascent.restore(kept[1], state["epoch"], pool)

            def observe(history: list[dict[str, Any]]) -> None:
                if val is not None:
                    measures = judge(as_model(ascent), val, n_classes, pool)
                    history[-1] |= {"top1": measures.at(1), "top5": measures.at(5)}
                if checkpoint is not None and checkpoint.is_due:
                    now = state | {"history": history, "epoch": ascent.epoch}
                    checkpoint.save(now, ascent.state())

            history = ascend(
                ascent,
                tol=self.tol,
                epochs=self.epochs,
                seconds=self.seconds,
                seed=self.seed,
                pool=pool,
                progress=progress,
                history=state["history"],
                observe=observe,
                watched=val is not None,
            )
        self._warn(history[-1], progress)
        reached = {n: float(f"{history[-1][n]:.6g}") for n in ("gap", "primal", "dual")}
        settings = self.describe() | {"lam": state["lam"], "tol": self.tol} | reached
        return Certified(
            as_model(ascent),
            settings,
            ascent.epoch,
            history,
            state["table"],
            certificate=ascent.certificate,
        )

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with the lam that was found."""
        return replace(self, lam=fitted.settings["lam"])

    def _warn(self, last: dict[str, Any], progress: Progress) -> None:
        if last["gap"] > self.tol:
            progress.note(
                f"Training ended after {last['epoch']} passes with a relative gap of "
                f"{last['gap']:.2g}, above {self.tol:g}: allow more epochs, or a larger lam."
            )

    def _choose(
        self,
        train: Rows,
        val: Rows | None,
        n_classes: int,
        pool: ThreadPool,
        progress: Progress,
        workers: TrainingWorkers | None = None,
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the lam to train with, and what was tried to find it."""
        if self.lam is not None:
            return self.lam, []
        square = mean_square(train) + self.bias**2
        if val is None:
            return UNSEARCHED_PART * square, []
        some = part_of(train, len(LAM_PARTS), n_classes, seed=self.seed)
        path = [float(f"{part * square:.3g}") for part in LAM_PARTS]
        table = self.follow(
            path, some, val, n_classes, pool=pool, progress=progress, workers=workers
        )
        best = max(table, key=lambda row: (row["top1"], row["top5"]))
        # What counts is lam times the number of rows: fewer rows need a larger one.
        return best["lam"] * some.n_rows / train.n_rows, table

    def follow(
        self,
        path: list[float],
        rows: Rows,
        val: Rows,
        n_classes: int,
        *,
        pool: ThreadPool,
        progress: Progress,
        workers: TrainingWorkers | None = None,
    ) -> list[dict[str, Any]]:
        """Train along a path of lam, coarsely; return the accuracy of each.

        The path ends early where accuracy has not risen for a while, once something is learned.
        """
        table: list[dict[str, Any]] = []
        ascent = self.make_at(workers, rows, n_classes, path[0])
        learned = LEARNED * self.untrained_loss(rows.labels, n_classes)
        best, since = (-1.0, -1.0), 0
        with progress.step("Trying values of lam", len(path), "values") as advance:
            for lam in path:
                ascent.change_lam(lam)
                last = ascend(
                    ascent,
                    tol=max(self.tol, SEARCH_TOL),
                    epochs=min(self.epochs, SEARCH_EPOCHS),
                    seconds=self.seconds,
                    seed=self.seed,
                    pool=pool,
                    progress=SILENT,
                )[-1]
                found = judge(as_model(ascent), val, n_classes, pool)
                row = {"lam": lam, "epochs": last["epoch"], "gap": last["gap"]}
                table.append(row | {"top1": found.at(1), "top5": found.at(5)})
                advance(1)
                score = found.at(1), found.at(5)
                if score > best:
                    best, since = score, 0
                elif last["primal"] < learned:
                    since += 1
                if since == WORSE_IN_A_ROW:
                    break
        return table


def as_model(ascent: Ascending) -> LinearModel:
    """Return the linear model of the certified weights."""
    W, b = ascent.weights()
    return LinearModel(W.astype(np.float32, copy=False), b.astype(np.float32, copy=False))


def judge(model: Model, rows: Rows, n_classes: int, pool: ThreadPool) -> Measures:
    """Return the accuracies of a model on held-out rows, scored against all classes."""
    ranks = np.empty(rows.n_rows, np.int32)

    def rank(some: range) -> None:
        truths: Truths = rows.labels[some.start : some.stop]
        if rows.sets is not None:
            truths = rows.sets.part(slice(some.start, some.stop))
        ranks[some.start : some.stop], _ = model.judge(rows.read(some), truths)

    starts = range(0, rows.n_rows, 1024)
    pool.share(rank, [range(start, min(start + 1024, rows.n_rows)) for start in starts])
    known = rows.labels if rows.sets is None else rows.sets
    return measure(ranks, known, n_classes=n_classes)


def check_labels(labels: NDArray[np.int32], n_classes: int) -> None:
    """Raise `InputError` unless every row has a class."""
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError("Every row that is trained on needs one of the classes as its label.")
