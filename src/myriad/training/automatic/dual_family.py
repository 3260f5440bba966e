"""Candidates trained in the dual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.progress import Advance
from myriad.training.automatic.family import Family
from myriad.training.automatic.paths import follow_path
from myriad.training.automatic.trials import Fold, Problem, Trial
from myriad.training.dual.one_vs_rest import BinaryAscent
from myriad.training.dual.svms import BinaryDual
from myriad.training.method import Method
from myriad.training.settings import mean_square
from myriad.training.validation import ModelRanker

FIRST_LAM, LAST_LAM = 2, 14
"""Values of lam of the dual are ``10 ** (-half / 2)`` times the mean squared norm of the rows, with
a whole number `half`: the first and the weakest that are tried."""
EXPLORING_EPOCHS, COMPARING_EPOCHS = 4, 7
"""Epochs of each value of lam, from the variables of the one before: where decades are explored,
and where the half decades around the best are compared. Held-out rows are ranked alike long before
the duality gap is small, so no certificate is computed."""
DUAL_ROWS = 50_000
"""Rows up to which training in the dual is a candidate: it keeps variables of every row."""
FINAL_TOL, CALIBRATION_TOL = 1e-2, 1e-1
"""The relative duality gap of the model that is chosen, below which accuracy does not change, and
of the models that calibrate it, whose scores are as large as its own at half the cost."""


class Dual(Family):
    """One-vs-rest support vector machines with the squared hinge loss, along a path of lam."""

    name = objective = "dual"

    def suits(self) -> bool:
        """Return whether variables of every row can be kept, and no rows have weights."""
        problem = self.problem
        return problem.folds[0].train.weights is None and problem.n_rows <= DUAL_ROWS

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
    def for_calibration(cls, method: Method) -> Method:
        """Return the method with a larger duality gap."""
        assert isinstance(method, BinaryDual)
        return replace(method, tol=CALIBRATION_TOL)

    @classmethod
    def for_rows(cls, settings: Mapping[str, Any], factor: float) -> Mapping[str, Any]:
        """Return settings with another lam: what counts is lam times the number of rows."""
        return {**settings, "lam": float(f"{settings['lam'] / factor:.3g}")}

    def search(self, advance: Advance) -> list[Trial]:
        """Train values of lam, each from the variables of the one before.

        See `follow_path`.
        """
        problem = self.problem
        square = sum(mean_square(fold.train) for fold in problem.folds) / len(problem.folds)
        fixed: dict[str, Any] = {"bias": float(f"{math.sqrt(square):.3g}")}
        fixed |= {"balanced": True} if problem.balance else {}
        trainers: list[BinaryAscent] = []

        def attempt(half: int, problem: Problem, explores: bool) -> Trial:
            lam = float(f"{10 ** (-half / 2) * square:.3g}")
            new = problem.folds[len(trainers) :]
            trainers.extend(self._trainer(fold, fixed | {"lam": lam}) for fold in new)
            n_epochs = EXPLORING_EPOCHS if explores else COMPARING_EPOCHS
            found, models = [], []
            for trainer, fold in zip(trainers, problem.folds, strict=True):
                trainer.change_lam(lam)
                for _ in range(n_epochs):
                    self._run_epoch(trainer, fold.train, advance)
                model = trainer.running_model()
                found.append(ModelRanker(model).rank(fold.held, pool=self.running.pool)[0])
                if problem.keeps_models and not explores:
                    models.append(fold.keep(model))
            ranks = np.concatenate(found)
            score = problem.judge.score(ranks == 1)
            settings = self.for_rows({"lam": lam, **fixed}, problem.n_rows / problem.fold_rows)
            return Trial(self.name, dict(settings), ranks, score, models=models)

        return follow_path(attempt, problem, FIRST_LAM, LAST_LAM, self.is_far_behind)

    def _trainer(self, fold: Fold, settings: dict[str, Any]) -> BinaryAscent:
        n_classes = self.problem.n_classes
        method = self.settle(settings, fold.train.labels, n_classes, seed=self.problem.seed)
        return method.make(fold.train, n_classes, settings["lam"])
