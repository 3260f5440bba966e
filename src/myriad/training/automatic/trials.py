"""The data that candidates are trained and compared on, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.store import Rows
from myriad.training.automatic.folds import Judge
from myriad.training.search import smooth

EXPLORED_ROWS = 500
"""Held-out rows that are enough to find the neighbourhood of the best setting."""
KEPT_MODELS, KEPT_SHARE = 16, 1 / 4
"""A search keeps the models that it compares if this number of each fold takes no more than this
share of the memory. Otherwise the chosen candidate is trained again to be calibrated."""
PATIENCE = 2
"""A path ends after this many consecutive points without a better accuracy."""

FoldModels = list[Callable[[], LinearModel]]
"""Functions that return the models of a candidate without each of the folds."""


@dataclass(frozen=True)
class Fold:
    """Rows to train on, those that are held out, and the numbers of the latter among all rows.

    Attributes
    ----------
    expand : returns a model of these rows as one of the rows that they were projected from; None
        if they are not projected.
    """

    train: Rows
    held: Rows
    numbers: NDArray[np.int64]
    expand: Callable[[LinearModel], LinearModel] | None = None

    def keep(self, model: LinearModel) -> Callable[[], LinearModel]:
        """Return a function that returns a model of these rows, expanded."""
        expand = self.expand
        return lambda: model if expand is None else expand(model)


@dataclass(frozen=True)
class Problem:
    """The data that candidates are trained and compared on.

    Attributes
    ----------
    folds : training and held-out rows.
    n_classes : number of classes.
    n_rows : number of rows that the chosen candidate will be trained on.
    judge : compares candidates by the held-out rows of all folds, one after the other.
    seed : seed of all random draws.
    memory : bytes that the weights trained side by side may take.
    balance : whether classes with few rows count as much as others.
    is_subsample : whether the chosen candidate will be trained on more rows than these.
    n_features : number of features of the rows that it will then be trained on. Those of a
        subsample may be fewer: coordinates in its span.
    extends : whether further learning rates are tried where the best one may lie beyond.
    """

    folds: Sequence[Fold]
    n_classes: int
    n_rows: int
    judge: Judge
    seed: int
    memory: int
    balance: bool = False
    is_subsample: bool = False
    n_features: int = 0
    extends: bool = True

    @property
    def keeps_models(self) -> bool:
        """Whether the models that are compared are small enough to be kept."""
        n_bytes = 4 * len(self.folds) * self.n_classes * self.folds[0].train.dim
        return KEPT_MODELS * n_bytes <= KEPT_SHARE * self.memory

    @property
    def fold_rows(self) -> float:
        """The mean number of rows that a candidate is trained on."""
        return sum(fold.train.n_rows for fold in self.folds) / len(self.folds)

    def explored(self) -> Problem:
        """Return the problem with its first folds only, as many as are needed to explore it."""
        folds = self.first_folds(EXPLORED_ROWS)
        if len(folds) == len(self.folds):
            return self
        judge = self.judge.first(sum(fold.held.n_rows for fold in folds))
        return replace(self, folds=folds, judge=judge)

    def unexplored(self) -> Problem | None:
        """Return the problem with the folds that `explored` leaves out; None if there are none.

        Its judge is that of all folds.
        """
        rest = self.folds[len(self.first_folds(EXPLORED_ROWS)) :]
        return replace(self, folds=rest) if rest else None

    def first_folds(self, enough: int) -> Sequence[Fold]:
        """Return the first folds, as many as hold out `enough` rows together, or all of them."""
        sizes = np.cumsum([fold.held.n_rows for fold in self.folds])
        return self.folds[: int(np.searchsorted(sizes, enough)) + 1]


@dataclass
class Trial:
    """A candidate, and how it did.

    Attributes
    ----------
    family : the name of its family.
    settings : what was tried, plain JSON, as `Family.settle` reads it.
    ranks : int32 array of shape (n_held,), ranks of the true labels of the held-out rows; of those
        of the first folds alone if the family was not compared on the others.
    score : accuracy in percent.
    smooth : the score averaged with those of its neighbours on the path, by which it is compared:
        the best of many noisy scores is too good to be true.
    models : those without each of the folds; empty if they were not kept.
    """

    family: str
    settings: dict[str, Any]
    ranks: NDArray[np.int32] = field(repr=False)
    score: float
    smooth: float = 0.0
    models: FoldModels = field(default_factory=list, repr=False)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each held-out row is classified correctly."""
        return self.ranks == 1

    @property
    def top5(self) -> float:
        """The percentage of held-out rows whose label is among the five best."""
        return 100.0 * float((self.ranks <= 5).mean())


def find_best(trials: Iterable[Trial]) -> Trial | None:
    """Return the trial with the best smoothed score, of equals the first; None if there is none."""
    return max(trials, key=lambda trial: trial.smooth, default=None)


def smooth_trials(trials: list[Trial]) -> None:
    """Set the smoothed scores of a path; see `smooth`."""
    for trial, value in zip(trials, smooth([trial.score for trial in trials]), strict=True):
        trial.smooth = value


def has_peaked(trials: list[Trial]) -> bool:
    """Return whether the last points of a path have brought no better score."""
    values = [trial.smooth for trial in trials]
    return values[::-1].index(max(values)) >= PATIENCE


def has_fallen(trials: list[Trial]) -> bool:
    """Return whether the first point of a path is better than all others."""
    first, *others = [trial.smooth for trial in trials]
    return bool(others) and first > max(others)
