"""Candidates of discriminant analysis: the analysis itself, and softmax in its space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.progress import Advance
from myriad.training.automatic.family import Family
from myriad.training.automatic.gradient_families import Softmax
from myriad.training.automatic.paths import follow_path
from myriad.training.automatic.trials import Problem, Trial, find_best
from myriad.training.context import RunningContext
from myriad.training.discriminant.gaussian import fit_gaussians
from myriad.training.discriminant.method import Discriminant as DiscriminantMethod
from myriad.training.discriminant.moments import ClassMoments
from myriad.training.method import Method
from myriad.training.validation import ModelRanker, count_block_rows

FIRST_FRACTION, LAST_FRACTION = -2, 8
"""Values of lam are ``10 ** (-half / 2)``, `half` being a whole number: the first, the weakest."""
DECOMPOSITION_WORK = 1e11
"""Multiply-adds up to which discriminant analysis is a candidate, for one value of lam and fold."""
FEW_CLASS_ROWS = 50
"""Rows per class up to which discriminant analysis is compared on a subsample."""


class Discriminant(Family):
    """Probabilistic discriminant analysis, along a path of lam."""

    name = objective = "plda"
    must_prove = True

    def suits(self) -> bool:
        """Return whether covariances are affordable, and a subsample says enough of all rows.

        Discriminant analysis is strong where classes have few rows, as they have in a subsample.
        """
        problem = self.problem
        few = problem.n_rows <= FEW_CLASS_ROWS * problem.n_classes
        return (few or not problem.is_subsample) and self._is_affordable()

    def _is_affordable(self) -> bool:
        """Return whether there is time and memory for the covariances of all features.

        Every value of lam needs a Cholesky decomposition and, unless there are fewer classes than
        features, the eigenvectors of a matrix of the same size.
        """
        problem = self.problem
        dim = problem.folds[0].train.dim
        work = dim**3 / 3 if problem.n_classes < dim else 10.0 * dim**3
        n_matrices = len(problem.folds) + 2  # of each fold, of all rows, and a copy
        return work <= DECOMPOSITION_WORK and 8 * n_matrices * dim**2 <= problem.memory

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
            lam = float(f"{10 ** (-half / 2):.3g}")
            found = []
            for own, fold in zip(moments, problem.folds, strict=False):
                model = fit_gaussians(own, lam).to_model()
                ranker = ModelRanker(model, count_block_rows(model.dim, model.n_classes))
                found.append(ranker.rank(fold.held, pool=self.running.pool)[0])
                advance(1)
            ranks = np.concatenate(found)
            return Trial(self.name, {"lam": lam}, ranks, problem.judge.score(ranks == 1))

        return follow_path(attempt, self.problem, FIRST_FRACTION, LAST_FRACTION, self.is_far_behind)


class ProjectedSoftmax(Softmax):
    """Softmax in the space of discriminant analysis, which is learned without the held-out rows."""

    name = "projected"
    must_prove = True

    def suits(self) -> bool:
        """Return whether discriminant analysis is about as good as the best candidate so far."""
        analysis = self._analysis()
        if analysis is None:
            return False
        complete = [trial for trial in self.earlier if len(trial.ranks) == len(analysis.ranks)]
        best = find_best(complete) or analysis
        gain, error = self.problem.judge.difference(analysis.correct, best.correct)
        return gain >= -error

    def _analysis(self) -> Trial | None:
        """Return the best trial of discriminant analysis."""
        return find_best(trial for trial in self.earlier if trial.family == Discriminant.name)

    def search(self, advance: Advance) -> list[Trial]:
        """Train softmax on the projected rows of each fold; see `GradientFamily.search`."""
        analysis = self._analysis()
        assert analysis is not None
        lam = analysis.settings["lam"]
        folds = []
        for own, fold in zip(
            collect_moments(self.problem, self.running), self.problem.folds, strict=True
        ):
            space = fit_gaussians(own, lam).space()
            folds.append(
                replace(fold, train=space.project(fold.train), held=space.project(fold.held))
            )
        self.problem = replace(self.problem, folds=folds)
        trials = super().search(advance)
        for trial in trials:
            trial.settings["plda"] = lam
        return trials


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
