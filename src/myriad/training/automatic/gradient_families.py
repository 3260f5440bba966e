"""Candidates trained by averaged stochastic gradient descent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.errors import WorkError
from myriad.progress import Advance
from myriad.training.automatic.family import Family
from myriad.training.automatic.paths import MAX_EXTENSIONS
from myriad.training.automatic.trials import (
    FoldModels,
    Problem,
    Trial,
    has_fallen,
    has_peaked,
    smooth_trials,
)
from myriad.training.optimiser import OptimiserOptions
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import Task
from myriad.training.sgd.method import SGD

JUDGED_EPOCHS = (2, 4, 6, 8, 12, 16, 24, 32)
"""Epochs after which candidates are compared. Averages of weights begin anew at powers of 2, so
these are the epochs that end with an average over half or a third of all steps."""
RATE_FACTOR = 3.0
"""How many times higher or lower the learning rate beyond the last or the first one is."""
TOO_FAR_BEHIND = 5.0
"""Percentage points behind an earlier family beyond which no further learning rates are tried."""


class GradientFamily(Family):
    """Averaged stochastic gradient descent: learning rates by numbers of epochs.

    Early stopping is what regularises: few epochs at a low rate are the strong end.
    """

    rates: ClassVar[tuple[float, ...]]
    """Learning rates, as multiples of the one that would undo a row's own loss."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Further options of the method."""
    balances: ClassVar[bool] = False
    """Whether the method can draw all classes equally often."""

    def search(self, advance: Advance) -> list[Trial]:
        """Explore learning rates side by side, and complete the best; see `Family.search`."""
        paths = self._explore(self.problem.explored(), advance)
        best, rest = find_best_rate(paths), self.problem.unexplored()
        if rest is not None and not self.is_far_behind(paths[best]):
            self._complete(paths[best], rest, advance)
            return paths[best]
        return [trial for rate in sorted(paths) for trial in paths[rate]]

    def _explore(self, problem: Problem, advance: Advance) -> dict[float, list[Trial]]:
        """Return the paths of all learning rates and, where they end too early, of further ones.

        Learning rates differ in how soon accuracy peaks rather than in its height. So a higher one
        is tried where accuracy rises until the last epoch, a lower one where it falls at once,
        unless earlier families are far ahead.
        """
        weights = len(problem.folds) * problem.n_classes * problem.folds[0].train.dim
        together = max(1, problem.memory // (8 * weights))  # with their averages, in float32
        paths: dict[float, list[Trial]] = {}
        # More rows need fewer epochs, and so the lowest rate will do.
        rates = self.rates[:1] if problem.is_subsample else self.rates
        for first in range(0, len(rates), together):
            paths |= self._follow(problem, list(rates[first : first + together]), advance)
        for _ in range(MAX_EXTENSIONS if problem.extends else 0):
            best = find_best_rate(paths)
            if self.is_far_behind(paths[best], TOO_FAR_BEHIND):
                break
            if best == max(paths) and not has_peaked(paths[best]):
                beyond = best * RATE_FACTOR
            elif best == min(paths) and has_fallen(paths[best]):
                beyond = best / RATE_FACTOR
            else:
                break
            try:
                paths |= self._follow(problem, [beyond], advance)
            except WorkError:  # the weights overflowed
                break
        return paths

    @classmethod
    def settle(
        cls, settings: Mapping[str, Any], labels: NDArray[np.int32], n_classes: int, *, seed: int
    ) -> SGD:
        """Return the method that trains a candidate; see `Family.settle`."""
        options = {"scale": False, **cls.options, **settings}
        average = OptimiserOptions(average=True)
        return SGD(objective=cls.objective, center=False, seed=seed, optimiser=average, **options)

    def _follow(
        self, problem: Problem, rates: list[float], advance: Advance
    ) -> dict[float, list[Trial]]:
        """Train some learning rates until accuracy peaks; return the trials of each by epochs."""
        tasks = self._make_tasks(problem)
        unit = sum(task.unit for task in tasks) / len(tasks)
        etas = {rate: float(f"{rate * unit:.3g}") for rate in rates}
        fixed = {"balanced": True} if self._balanced else {}
        paths: dict[float, list[Trial]] = {rate: [] for rate in rates}
        for epoch, ranks, models in self._train(problem, tasks, list(etas.values()), advance):
            for rate, some, own in zip(rates, ranks, models, strict=True):
                settings = {"eta": etas[rate], "epochs": epoch, **fixed}
                score = problem.judge.score(some == 1)
                paths[rate].append(Trial(self.name, settings, some, score, models=own))
                smooth_trials(paths[rate])
            if has_peaked(paths[find_best_rate(paths)]):
                break
        return paths

    def _complete(self, path: list[Trial], rest: Problem, advance: Advance) -> None:
        """Add the ranks of the other folds to the trials of one learning rate on the first folds.

        Parameters
        ----------
        path : the trials; they are changed.
        rest : the problem with the other folds only.
        """
        found = self._train(rest, self._make_tasks(rest), [path[0].settings["eta"]], advance)
        for trial, (_, ranks, models) in zip(path, found, strict=False):  # the path ends first
            trial.ranks = np.concatenate([trial.ranks, ranks[0]])
            trial.models += models[0]
            trial.score = self.problem.judge.score(trial.correct)
        smooth_trials(path)

    @property
    def _balanced(self) -> bool:
        return self.problem.balance and self.balances

    def _make_tasks(self, problem: Problem) -> list[Task]:
        fixed = {"balanced": True} if self._balanced else {}
        method = self.settle(fixed, np.zeros(0, np.int32), problem.n_classes, seed=problem.seed)
        return [Task(method, fold.train, None, problem.n_classes) for fold in problem.folds]

    def _train(
        self, problem: Problem, tasks: list[Task], etas: list[float], advance: Advance
    ) -> Iterator[tuple[int, NDArray[np.int32], list[FoldModels]]]:
        """Train learning rates side by side on all folds of a problem.

        Yields the number of epochs, for each of `JUDGED_EPOCHS`, the ranks of the held-out rows of
        all folds, an array of shape (n_rates, n_held), and the models of each rate.
        """
        trainers = [
            task.make([Setting(eta, task.method.beta) for eta in etas], task.train)
            for task in tasks
        ]
        for epoch in range(1, JUDGED_EPOCHS[-1] + 1):
            for trainer, task in zip(trainers, tasks, strict=True):
                self._run_epoch(trainer, task.train, advance)
            if epoch in JUDGED_EPOCHS:
                pairs = zip(trainers, problem.folds, strict=True)
                found = [trainer.rank(fold.held, pool=self.running.pool) for trainer, fold in pairs]
                models: list[FoldModels] = [[] for _ in etas]
                if problem.keeps_models:
                    for trainer, task, fold in zip(trainers, tasks, problem.folds, strict=True):
                        for number, setting in enumerate(trainer.settings):
                            model = task.model(*trainer.weights(number), setting)
                            models[number].append(fold.keep(model))
                yield epoch, np.concatenate(found, axis=1), models


class Softmax(GradientFamily):
    """Multinomial logistic regression."""

    name = objective = "softmax"
    rates: ClassVar[tuple[float, ...]] = (1.0, 3.0)
    balances = True


class OneVsRest(GradientFamily):
    """One-vs-rest logistic regression with all negatives."""

    name = objective = "ovr"
    rates = (0.3, 1.0)
    options: ClassVar[Mapping[str, Any]] = {"loss": "logistic", "beta": math.inf}


class Sampled(GradientFamily):
    """One-vs-rest with sampled negatives, for very many classes; searched by its own method."""

    name = "sampled"
    objective = "ovr"


def find_best_rate(paths: Mapping[float, list[Trial]]) -> float:
    """Return the learning rate whose path has the best smoothed score; of equals the lowest."""
    return max(sorted(paths), key=lambda rate: max(trial.smooth for trial in paths[rate]))
