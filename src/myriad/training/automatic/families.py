"""Families of candidates: what the automatic method tries, from strong to weak regularisation.

A family explores its settings on the first folds, and compares those near the best on all folds. It
trains a candidate on all of them in step, so that its accuracy on held-out rows is known as it
goes, and it can stop when accuracy has peaked. Another family is another subclass of `Family` and a
line in `FAMILIES`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from myriad.errors import WorkError
from myriad.progress import Advance
from myriad.store import Rows
from myriad.training.automatic.trials import (
    Fold,
    Problem,
    Trial,
    has_fallen,
    has_peaked,
    smooth_trials,
)
from myriad.training.context import RunningContext
from myriad.training.dual.ascent import DualTrainer
from myriad.training.dual.gap_stopping import GapStopping
from myriad.training.dual.svms import BinaryDual
from myriad.training.loop import run
from myriad.training.method import Method
from myriad.training.optimiser import OptimiserOptions
from myriad.training.settings import Setting, mean_square
from myriad.training.sgd.fitting import Task
from myriad.training.sgd.method import SGD

JUDGED_EPOCHS = (2, 4, 6, 8, 12, 16, 24, 32)
"""Epochs after which candidates are compared. Averages of weights begin anew at powers of 2, so
these are the epochs that end with an average over half or a third of all steps."""
RATE_FACTOR = 3.0
"""How many times higher or lower the learning rate beyond the last or the first one is."""
MAX_EXTENSIONS = 3
"""How often a path is extended where its best value is the first or the last."""
FIRST_LAM, LAST_LAM, STRONGEST_LAM = 2, 14, -2
"""Values of lam are ``10 ** (-half / 2)`` times the mean squared norm of the rows, with a whole
number `half`: the first, the weakest and the strongest that are tried."""
COARSE, FINE = (0.1, 6), (0.03, 12)
"""The relative duality gap to which decades of lam are explored, and the most epochs; then those of
the half decades around the best."""
FINAL_TOL = 1e-2
"""The relative duality gap of the model that is chosen; accuracy does not change below it."""


class Family(ABC):
    """A family of candidates.

    Attributes
    ----------
    name : its name, an objective.
    """

    name: ClassVar[str]

    def __init__(self, problem: Problem, running: RunningContext) -> None:
        self.problem, self.running = problem, running

    @classmethod
    @abstractmethod
    def settle(
        cls, settings: Mapping[str, Any], labels: NDArray[np.int32], n_classes: int, *, seed: int
    ) -> Method:
        """Return the method that trains a candidate on rows with some labels."""

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

    def _run_epoch(self, trainer: Any, rows: Rows, advance: Advance) -> None:
        trainer.run_epoch(
            rows, seed=self.problem.seed, pool=self.running.pool, advance=lambda n: None
        )
        advance(1)


class GradientFamily(Family):
    """Averaged stochastic gradient descent: learning rates by numbers of epochs.

    Early stopping is what regularises: few epochs at a low rate are the strong end.
    """

    objective: ClassVar[str]
    rates: ClassVar[tuple[float, ...]]
    """Learning rates, as multiples of the one that would undo a row's own loss."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Further options of the method."""
    balances: ClassVar[bool] = False
    """Whether the method can draw all classes equally often."""

    def search(self, advance: Advance) -> list[Trial]:
        """Explore learning rates side by side, then follow the best; see `Family.search`."""
        explored = self.problem.explored()
        paths = self._explore(explored, advance)
        best = find_best_rate(paths)
        if len(explored.folds) < len(self.problem.folds):
            paths = self._follow(self.problem, [best], advance)
        return [trial for rate in sorted(paths) for trial in paths[rate]]

    def _explore(self, problem: Problem, advance: Advance) -> dict[float, list[Trial]]:
        """Return the paths of all learning rates and, where they end too early, of further ones.

        Learning rates differ in how soon accuracy peaks rather than in its height. So a higher one
        is tried where accuracy rises until the last epoch, a lower one where it falls at once.
        """
        weights = len(problem.folds) * problem.n_classes * problem.folds[0].train.dim
        together = max(1, problem.memory // (8 * weights))  # with their averages, in float32
        paths: dict[float, list[Trial]] = {}
        # More rows need fewer epochs, and so the lowest rate will do.
        rates = self.rates[:1] if problem.is_subsample else self.rates
        for first in range(0, len(rates), together):
            paths |= self._follow(problem, list(rates[first : first + together]), advance)
        for _ in range(MAX_EXTENSIONS):
            best = find_best_rate(paths)
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
        """Train some learning rates; return the trials of each by its number of epochs."""
        fixed = {"balanced": True} if problem.balance and self.balances else {}
        method = self.settle(fixed, np.zeros(0, np.int32), problem.n_classes, seed=problem.seed)
        tasks = [Task(method, fold.train, None, problem.n_classes) for fold in problem.folds]
        unit = sum(task.unit for task in tasks) / len(tasks)
        etas = {rate: float(f"{rate * unit:.3g}") for rate in rates}
        trainers = [
            task.make([Setting(etas[rate], method.beta) for rate in rates], task.train)
            for task in tasks
        ]
        paths: dict[float, list[Trial]] = {rate: [] for rate in rates}
        for epoch in range(1, JUDGED_EPOCHS[-1] + 1):
            for trainer, task in zip(trainers, tasks, strict=True):
                self._run_epoch(trainer, task.train, advance)
            if epoch not in JUDGED_EPOCHS:
                continue
            pairs = zip(trainers, problem.folds, strict=True)
            found = [trainer.rank(fold.held, pool=self.running.pool) for trainer, fold in pairs]
            ranks = np.concatenate(found, axis=1)
            for rate, some in zip(rates, ranks, strict=True):
                settings = {"eta": etas[rate], "epochs": epoch, **fixed}
                score = problem.judge.score(some == 1)
                paths[rate].append(Trial(self.name, settings, some, score))
                smooth_trials(paths[rate])
            if has_peaked(paths[find_best_rate(paths)]):
                break
        return paths


class Softmax(GradientFamily):
    """Multinomial logistic regression."""

    name = objective = "softmax"
    rates = (1.0, 3.0)
    balances = True


class OneVsRest(GradientFamily):
    """One-vs-rest logistic regression with all negatives."""

    name = objective = "ovr"
    rates = (0.3, 1.0)
    options: ClassVar[Mapping[str, Any]] = {"loss": "logistic", "beta": math.inf}


class Dual(Family):
    """One-vs-rest support vector machines with the squared hinge loss, along a path of lam."""

    name = "dual"

    @classmethod
    def settle(
        cls, settings: Mapping[str, Any], labels: NDArray[np.int32], n_classes: int, *, seed: int
    ) -> BinaryDual:
        """Return the method that trains a candidate; see `Family.settle`."""
        weights = None
        if settings.get("balanced"):
            # Weights of positives that give every class the same weight in all.
            counts = np.maximum(np.bincount(labels[labels >= 0], minlength=n_classes), 1)
            weights = tuple((counts.mean() / counts).tolist())
        return BinaryDual(
            center=False,
            loss="squared_hinge",
            lam=settings["lam"],
            bias=settings["bias"],
            class_weights=weights,
            tol=FINAL_TOL,
            seed=seed,
        )

    @classmethod
    def for_rows(cls, settings: Mapping[str, Any], factor: float) -> Mapping[str, Any]:
        """Return settings with another lam: what counts is lam times the number of rows."""
        return {**settings, "lam": float(f"{settings['lam'] / factor:.3g}")}

    def search(self, advance: Advance) -> list[Trial]:
        """Train values of lam, each from the variables of the one before.

        Decades are explored from strong to weak regularisation, until accuracy falls. Then the best
        one and the half decades beside it are compared on all folds, and further half decades as
        long as the first or the last is the best.
        """
        problem, explored = self.problem, self.problem.explored()
        square = sum(mean_square(fold.train) for fold in problem.folds) / len(problem.folds)
        fixed: dict[str, Any] = {"bias": float(f"{math.sqrt(square):.3g}")}
        fixed |= {"balanced": True} if problem.balance else {}
        trainers: list[DualTrainer] = []

        def attempt(half: int, problem: Problem, *, explores: bool) -> Trial:
            lam = float(f"{10 ** (-half / 2) * square:.3g}")
            new = problem.folds[len(trainers) :]
            trainers.extend(self._trainer(fold, fixed | {"lam": lam}) for fold in new)
            found = [
                self._train(trainer, fold, lam, advance, explores=explores)
                for trainer, fold in zip(trainers, problem.folds, strict=True)
            ]
            ranks = np.concatenate(found)
            settings = self.for_rows({"lam": lam, **fixed}, problem.n_rows / problem.fold_rows)
            return Trial(self.name, dict(settings), ranks, problem.judge.score(ranks == 1))

        coarse: dict[int, Trial] = {}
        for half in range(FIRST_LAM, LAST_LAM + 1, 2):
            coarse[half] = attempt(half, explored, explores=True)
            if find_best_half(coarse) < half:
                break
        while min(coarse) > STRONGEST_LAM and rises_to(coarse, min(coarse), min(coarse) + 2):
            half = min(coarse) - 2
            coarse[half] = attempt(half, explored, explores=True)
        centre = find_best_half(coarse)
        halves = (centre - 1, centre, centre + 1)
        fine = {half: attempt(half, problem, explores=False) for half in halves}
        for _ in range(MAX_EXTENSIONS):
            best = find_best_half(fine)
            if best == max(fine) <= LAST_LAM:
                half = best + 1
            elif best >= STRONGEST_LAM and rises_to(fine, min(fine), min(fine) + 1):
                half = min(fine) - 1
            else:
                break
            fine[half] = attempt(half, problem, explores=False)
        path = [fine[half] for half in sorted(fine)]
        smooth_trials(path)
        return path

    def _trainer(self, fold: Fold, settings: dict[str, Any]) -> DualTrainer:
        n_classes = self.problem.n_classes
        method = self.settle(settings, fold.train.labels, n_classes, seed=self.problem.seed)
        return method.trainer(fold.train, n_classes, settings["lam"])

    def _train(
        self, trainer: DualTrainer, fold: Fold, lam: float, advance: Advance, *, explores: bool
    ) -> NDArray[np.int32]:
        """Train with another lam, from the variables of the last one; return ranks of held rows."""
        trainer.change_lam(lam)
        tol, epochs = COARSE if explores else FINE
        monitor = GapStopping(trainer, tol=tol, epochs=epochs)
        run(
            trainer,
            fold.train,
            monitor,
            until=monitor.until,
            seed=self.problem.seed,
            pool=self.running.pool,
        )
        advance(1)
        return trainer.rank(fold.held, pool=self.running.pool)[0]


class Sampled(GradientFamily):
    """One-vs-rest with sampled negatives, for very many classes; searched by its own method."""

    name = "sampled"
    objective = "ovr"


FAMILIES: dict[str, type[Family]] = {
    family.name: family for family in (Softmax, Dual, OneVsRest, Sampled)
}


def find_best_rate(paths: Mapping[float, list[Trial]]) -> float:
    """Return the learning rate whose path has the best smoothed score; of equals the lowest."""
    return max(sorted(paths), key=lambda rate: max(trial.smooth for trial in paths[rate]))


def rises_to(trials: Mapping[int, Trial], half: int, inner: int) -> bool:
    """Return whether the best value of lam is `half`, and it is better than the one beside it.

    Where classes are easily told apart, scores do not change, and the strongest regularisation that
    could be tried would give poor probabilities.
    """
    return find_best_half(trials) == half and trials[half].score > trials[inner].score


def find_best_half(trials: Mapping[int, Trial]) -> int:
    """Return the value of lam with the best score; of equals the strongest."""
    return max(sorted(trials), key=lambda half: trials[half].score)
