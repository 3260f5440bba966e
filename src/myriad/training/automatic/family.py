"""Families of candidates, which differ in how strongly they are regularised; the base class.

A family explores its settings on the first folds, and compares those near the best on all folds,
unless an earlier family is far better. It trains a candidate on all folds in step, so that its
accuracy on held-out rows is known as it goes, and it can stop when accuracy has peaked. Another
family is another subclass of `Family` and a line in `FAMILIES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.automatic.trials import Problem, Trial, find_best
from myriad.training.context import RunningContext
from myriad.training.method import Method

FAR_BEHIND, FAR_BEHIND_ERRORS = 1.0, 2.0
"""A family is not compared on all folds if, on the first folds, it is behind an earlier one by more
than the first number of percentage points plus the second number of standard errors."""


class Family(ABC):
    """A family of candidates.

    Parameters
    ----------
    problem : what candidates are trained and compared on.
    running : threads and progress.
    earlier : the trials of the families before.

    Attributes
    ----------
    name : its name.
    title : how progress calls it; by its name if empty.
    objective : the objective that its candidates are trained with.
    must_prove : whether it is chosen only if it is ahead of families without this mark by more than
        the standard error of the difference.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    objective: ClassVar[str]
    must_prove: ClassVar[bool] = False

    def __init__(
        self, problem: Problem, running: RunningContext, earlier: Sequence[Trial] = ()
    ) -> None:
        self.problem, self.running, self.earlier = problem, running, earlier

    def suits(self) -> bool:
        """Return whether the family is worth trying on the problem."""
        return True

    @classmethod
    @abstractmethod
    def settle(
        cls, settings: Mapping[str, Any], labels: NDArray[np.int32], n_classes: int, *, seed: int
    ) -> Method:
        """Return the method that trains a candidate on rows with some labels."""

    @classmethod
    def for_calibration(cls, method: Method) -> Method:
        """Return the method that trains models whose held-out scores calibrate the final one."""
        return method

    @classmethod
    def for_rows(cls, settings: Mapping[str, Any], factor: float) -> Mapping[str, Any]:
        """Return settings found for some rows as they should be for `factor` times as many."""
        return settings

    @abstractmethod
    def search(self, advance: Advance) -> list[Trial]:
        """Train the candidates; return a trial of each, smoothed along its path.

        Parameters
        ----------
        advance : called with 1 for every epoch of a fold.
        """

    def is_far_behind(self, explored: Sequence[Trial], points: float = FAR_BEHIND) -> bool:
        """Return whether the best of trials on the first folds is far behind earlier families.

        Parameters
        ----------
        points : percentage points that are far, beyond the error of the difference.
        """
        n_held = len(self.problem.judge.weights)
        before = find_best(trial for trial in self.earlier if len(trial.ranks) == n_held)
        own = find_best(explored)
        if before is None or own is None:
            return False
        behind, error = self.problem.judge.difference(before.correct, own.correct)
        return behind > points + FAR_BEHIND_ERRORS * error

    def _run_epoch(self, trainer: Any, rows: Rows, advance: Advance) -> None:
        trainer.run_epoch(
            rows, seed=self.problem.seed, pool=self.running.pool, advance=lambda n: None
        )
        advance(1)
