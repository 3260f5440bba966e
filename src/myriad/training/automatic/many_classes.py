"""The automatic method for very many classes, or several labels per row.

Discriminant analysis takes one pass. Beside it is trained, in a space of its own lam, softmax or,
where that would take too long, one-vs-rest with sampled negatives; the better one on the validation
rows is kept.

The space is chosen on a sample of the classes. Covariances are those of all training rows, whose
classes are too many to train softmax for every value of lam. So the values are compared by softmax
on the rows of some classes alone, projected into the space of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from myriad.randomness import generator
from myriad.store import ArrayRows, Rows
from myriad.training.automatic.choice import Choice, Chosen
from myriad.training.automatic.discriminant_families import ProjectedSoftmax
from myriad.training.automatic.families import FAMILIES
from myriad.training.automatic.folds import Judge
from myriad.training.automatic.method import Automatic
from myriad.training.automatic.trials import Fold, Problem
from myriad.training.context import Context
from myriad.training.discriminant.method import MANY_FEATURES, Discriminant
from myriad.training.discriminant.moments import ClassMoments
from myriad.training.method import Fitted
from myriad.training.optimiser import OptimiserOptions
from myriad.training.sgd.method import SGD

SOFTMAX_WORK = 1e12
"""Rows times classes times features up to which softmax is a candidate. Above, it is one-vs-rest
with sampled negatives, which compares a row with few of the classes."""
SAMPLED_CLASSES, SAMPLED_ROWS = 500, 10_000
"""Classes that values of lam are compared on, and rows of theirs, at most."""


@dataclass(frozen=True)
class ManyClasses:
    """One training by the automatic method, whose options are those of `method`."""

    method: Automatic
    n_classes: int
    context: Context

    def fit(self, train: Rows, val: Rows | None) -> Chosen:
        """Train the candidates and keep the better one; see `Method.fit`."""
        if train.sets is not None or train.dim > MANY_FEATURES:
            return self.fit_sgd("sampled", train, val)
        method = Discriminant(center=False, seed=self.method.seed)
        fitted = method.fit(train, val, n_classes=self.n_classes, context=self.context)
        lam = fitted.settings["lam"]
        first = Chosen.of(fitted, Choice("plda", {"lam": lam}, table=fitted.table))
        if val is None:
            return first
        softmax = float(train.n_rows) * self.n_classes * train.dim <= SOFTMAX_WORK
        lam = self.choose_space(train, val) or lam
        second = self.fit_sgd("projected" if softmax else "sampled", train, val, plda=lam)
        table = [
            {"objective": fitted.settings["objective"], **row}
            for fitted in (first, second)
            for row in fitted.table
        ]
        best = max((first, second), key=validation_accuracy)
        return replace(best, table=table, choice=replace(best.choice, table=table))

    def fit_sgd(
        self, family: str, train: Rows, val: Rows | None, plda: float | None = None
    ) -> Chosen:
        """Train a family by gradient descent; its settings are searched on validation rows.

        Parameters
        ----------
        plda : lam of the space of discriminant analysis to train in; None for the features.
        """
        method = SGD(
            objective=FAMILIES[family].objective,
            seed=self.method.seed,
            center=False,
            scale=None if plda is None else False,
            memory=self.method.memory,
            optimiser=OptimiserOptions(average=True),
            plda=plda,
        )
        fitted = method.fit(train, val, n_classes=self.n_classes, context=self.context)
        settled = method.settled(fitted)
        values = {
            name: getattr(settled, name) for name in ("eta", "beta", "scale", "epochs", "plda")
        }
        settings = {name: value for name, value in values.items() if value is not None}
        return Chosen.of(fitted, Choice(family, settings, table=fitted.table))

    def choose_space(self, train: Rows, val: Rows) -> float | None:
        """Return lam of the space in which softmax ranks validation rows of some classes best.

        None where fewer than two classes have training and validation rows.
        """
        present = np.intersect1d(train.labels[train.labels >= 0], val.labels)
        if len(present) < 2:
            return None
        draws = generator(self.method.seed, "classes to choose a space by")
        classes = np.sort(draws.permutation(present)[:SAMPLED_CLASSES])
        kept, held = (_read_classes(rows, classes, draws) for rows in (train, val))
        numbers = np.arange(held.n_rows)
        problem = Problem(
            [Fold(kept, held, numbers)],
            len(classes),
            train.n_rows,
            Judge.of(held.labels, numbers, len(classes)),
            self.method.seed,
            self.method.memory,
            n_features=train.dim,
        )
        with self.context.open() as running:
            moments = ClassMoments.collect(train, self.n_classes, pool=running.pool)
            title = f"Comparing spaces of plda on {len(classes):,} classes"
            with running.progress.step(title, None, "epochs") as advance:
                family = ProjectedSoftmax(problem, running)
                lam, _ = family.choose_space(problem, [moments], advance)
        return lam


def validation_accuracy(fitted: Fitted) -> float:
    """Return the best accuracy on validation rows of a training or its search, in percent."""
    rows = fitted.history or fitted.table
    return max((float(row["top1"]) for row in rows), default=0.0)


def _read_classes(rows: Rows, classes: NDArray[np.int32], draws: np.random.Generator) -> ArrayRows:
    """Return rows of some classes in memory, labelled by positions in `classes`."""
    chosen = np.flatnonzero(np.isin(rows.labels, classes))
    chosen = np.sort(draws.permutation(chosen)[:SAMPLED_ROWS])
    names = [str(c) for c in classes]
    return ArrayRows(rows.read(chosen), np.searchsorted(classes, rows.labels[chosen]), names)
