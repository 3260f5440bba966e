"""Candidates of discriminant analysis: the analysis itself, and softmax in its space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.progress import Advance
from myriad.training.automatic.family import Family
from myriad.training.automatic.gradient_families import Softmax, find_best_rate
from myriad.training.automatic.paths import climb, find_smoothed_half, follow_path
from myriad.training.automatic.trials import Problem, Trial, find_best
from myriad.training.context import RunningContext
from myriad.training.discriminant.gaussian import fit_gaussians
from myriad.training.discriminant.method import Discriminant as DiscriminantMethod
from myriad.training.discriminant.moments import ClassMoments
from myriad.training.method import Method
from myriad.training.validation import ModelRanker, count_block_rows

FIRST_FRACTION, LAST_FRACTION = -2, 8
"""Values of lam are ``10 ** (-half / 2)``, `half` being a whole number: the first, the weakest."""
FIRST_SPACE, STRONGEST_SPACE, WEAKEST_SPACE = 1, -4, 6
"""The same for the space in which softmax is trained: the first, the strongest and the weakest."""
DECOMPOSITION_WORK = 1e11
"""Multiply-adds up to which discriminant analysis is a candidate, for one value of lam and fold."""
FEW_CLASS_ROWS = 50
"""Rows per class up to which discriminant analysis is compared on a subsample."""


class Discriminant(Family):
    """Probabilistic discriminant analysis, along a path of lam."""

    name = objective = "plda"
    must_prove = True

    def suits(self) -> bool:
        """Return whether discriminant analysis is affordable and comparable."""
        return suits_analysis(self.problem)

    @classmethod
    def settle(
        cls, settings: Mapping[str, Any], labels: NDArray[np.int32], n_classes: int, *, seed: int
    ) -> Method:
        """Return the method that trains a candidate; see `Family.settle`."""
        return DiscriminantMethod(center=False, lam=settings["lam"], seed=seed)

    def search(self, advance: Advance) -> list[Trial]:
        """Compare values of lam; see `follow_path`."""
        moments = collect_moments(self.problem, self.running)

        def attempt(half: int, problem: Problem, explores: bool) -> Trial:
            lam = read_lam(half)
            found, models = [], []
            for own, fold in zip(moments, problem.folds, strict=False):
                model = fit_gaussians(own, lam).to_model()
                ranker = ModelRanker(model, count_block_rows(model.dim, model.n_classes))
                found.append(ranker.rank(fold.held, pool=self.running.pool)[0])
                if problem.keeps_models:
                    models.append(fold.keep(model))
                advance(1)
            ranks = np.concatenate(found)
            score = problem.judge.score(ranks == 1)
            return Trial(self.name, {"lam": lam}, ranks, score, models=models)

        return follow_path(attempt, self.problem, FIRST_FRACTION, LAST_FRACTION, self.is_far_behind)


class ProjectedSoftmax(Softmax):
    """Softmax in the space of discriminant analysis, which is learned without the held-out rows.

    The space depends on lam of the analysis: values are explored on the first folds, and the best
    one is compared on all.
    """

    name = "projected"
    title = "softmax in the space of plda"
    rates = (1.0,)
    must_prove = True

    def suits(self) -> bool:
        """Return whether discriminant analysis is affordable and comparable."""
        return suits_analysis(self.problem)

    def search(self, advance: Advance) -> list[Trial]:
        """Return the trials of the best space by numbers of epochs; see `GradientFamily.search`."""
        rest = self.problem.unexplored()
        moments = collect_moments(self.problem, self.running)
        lam, paths = self.choose_space(self.problem.explored(), moments, advance)
        trials = paths[find_best_rate(paths)]
        if rest is not None:
            own = moments[-len(rest.folds) :]
            self._complete(trials, project(rest, own, lam), advance)
        for trial in trials:
            trial.settings["plda"] = lam
        return trials

    def choose_space(
        self, problem: Problem, moments: Sequence[ClassMoments], advance: Advance
    ) -> tuple[float, dict[float, list[Trial]]]:
        """Return the best lam of the analysis, and the trials in its space by learning rate.

        Parameters
        ----------
        moments : those that the space of each fold is computed from.
        """
        found: dict[int, dict[float, list[Trial]]] = {}

        def attempt(half: int) -> Trial:
            paths = self._explore(project(problem, moments, read_lam(half)), advance)
            found[half] = paths
            best = find_best(paths[find_best_rate(paths)])
            assert best is not None
            return replace(best)

        best = find_smoothed_half(climb(attempt, FIRST_SPACE, STRONGEST_SPACE, WEAKEST_SPACE))
        return read_lam(best), found[best]


def suits_analysis(problem: Problem) -> bool:
    """Return whether discriminant analysis is affordable, and a subsample says enough of all rows.

    It is strong where classes have few rows, as they have in a subsample. All rows may have more
    features than the coordinates of a subsample in its span. Every value of lam needs a Cholesky
    decomposition and, unless there are fewer classes than features, the eigenvectors of a matrix of
    the same size.
    """
    if problem.is_subsample and problem.n_rows > FEW_CLASS_ROWS * problem.n_classes:
        return False
    dim = problem.n_features if problem.is_subsample else problem.folds[0].train.dim
    work = dim**3 / 3 if problem.n_classes < dim else 10.0 * dim**3
    n_matrices = len(problem.folds) + 2  # of each fold, of all rows, and a copy
    return work <= DECOMPOSITION_WORK and 8 * n_matrices * dim**2 <= problem.memory


def read_lam(half: int) -> float:
    """Return lam of a number of half decades, rounded as it is kept in settings."""
    return float(f"{10 ** (-half / 2):.3g}")


def project(problem: Problem, moments: Sequence[ClassMoments], lam: float) -> Problem:
    """Return a problem whose rows are in the space of discriminant analysis of each fold."""
    folds = []
    for own, fold in zip(moments, problem.folds, strict=False):
        space = fit_gaussians(own, lam).space()
        train, held = space.project(fold.train), space.project(fold.held)
        folds.append(replace(fold, train=train, held=held, expand=space.expand))
    return replace(problem, folds=folds)


def collect_moments(problem: Problem, running: RunningContext) -> list[ClassMoments]:
    """Return the moments of the training rows of each fold.

    They are those of all rows, less those of the held-out rows, which are fewer.
    """
    n_classes, pool = problem.n_classes, running.pool
    first, *others = problem.folds
    trained = ClassMoments.collect(first.train, n_classes, pool=pool)
    if not others:
        return [trained]
    everything = trained + ClassMoments.collect(first.held, n_classes, pool=pool)
    held = (ClassMoments.collect(fold.held, n_classes, pool=pool) for fold in others)
    return [trained, *(everything - own for own in held)]
