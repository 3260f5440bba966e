"""The search of the automatic method: which candidate, how sure, and what came second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.models.calibration.held_scores import HeldScores
from myriad.store import Rows
from myriad.training.automatic.calibration_scores import score_chosen
from myriad.training.automatic.choice import Choice
from myriad.training.automatic.families import FAMILIES
from myriad.training.automatic.folds import (
    ENOUGH_OF_SUBSAMPLE,
    ENOUGH_ROWS,
    Judge,
    choose_folds,
    count_groups,
    draw_folds,
)
from myriad.training.automatic.trials import Fold, Problem, Trial, find_best
from myriad.training.context import RunningContext
from myriad.training.discriminant.gaussian import SingularCovariance

UNSEARCHED: dict[str, Any] = {"epochs": 16}
"""The settings of softmax where nothing can be held out."""


@dataclass(frozen=True)
class Plan:
    """How much a search tries.

    Attributes
    ----------
    families : names of the families of candidates.
    n_folds : number of folds that the rows are cut into.
    max_folds : most folds that are held out.
    extends : whether further learning rates are tried where the best one may lie beyond.
    """

    families: tuple[str, ...]
    n_folds: int
    max_folds: int
    extends: bool = True


PLANS = {
    "quick": Plan(("softmax",), 3, 1, extends=False),
    "normal": Plan(("projected", "softmax", "dual"), 3, 3),
    "thorough": Plan(("projected", "softmax", "dual", "plda", "ovr"), 5, 5),
}


def choose(
    rows: Rows,
    n_classes: int,
    *,
    search: str,
    n_rows: int,
    n_features: int,
    seed: int,
    memory: int,
    running: RunningContext,
    measure: str = "auto",
) -> tuple[Choice, HeldScores | None]:
    """Compare candidates by cross-validation on rows, which may be a subsample.

    Returns the best one and its scores of the held-out rows, if any are held out.

    Parameters
    ----------
    search : one of `PLANS`.
    measure : see `Automatic`.
    n_rows, n_features : number of rows that the chosen candidate will be trained on, and of their
        features.
    memory : bytes that the weights trained side by side may take.
    """
    plan = PLANS[search]
    problem = make_problem(
        rows,
        n_classes,
        plan,
        n_rows=n_rows,
        n_features=n_features,
        measure=measure,
        seed=seed,
        memory=memory,
    )
    if problem is None:
        running.progress.note(
            f"No class has two {'rows' if rows.groups is None else 'groups'}, so there is no "
            "cross-validation: default settings are used."
        )
        return Choice("softmax", UNSEARCHED), None
    trials: list[Trial] = []
    for name in plan.families:
        family = FAMILIES[name](problem, running, trials)
        if family.suits():
            title = f"Cross-validation: {family.title or name}"
            with running.progress.step(title, None, "epochs") as advance:
                try:
                    found = family.search(advance)
                except SingularCovariance:
                    running.progress.note(
                        f"{title} is left out: the sizes of the rows are too different."
                    )
                    continue
            top = find_best(trial for trial in found if len(trial.models) == len(problem.folds))
            for trial in found:
                if trial is not top:
                    trial.models.clear()
            trials += found
    best, choice = decide(trials, problem)
    return score_chosen(best.models, choice, problem, rows.labels, running)


def decide(trials: list[Trial], problem: Problem) -> tuple[Trial, Choice]:
    """Return the best candidate, and what the choice says of it.

    Of equals it is the first, which is regularised most.

    A family that must prove itself is chosen only if it is ahead by more than the error, one that
    was not compared on all folds never.
    """
    judge = problem.judge
    complete = [trial for trial in trials if len(trial.ranks) == len(judge.weights)]
    names = dict.fromkeys(trial.family for trial in complete)
    tops = [
        max((trial for trial in complete if trial.family == name), key=lambda trial: trial.smooth)
        for name in sorted(names, key=lambda name: FAMILIES[name].must_prove)
    ]
    best = tops[0]
    for top in tops[1:]:
        _, error = judge.difference(top.correct, best.correct)
        if top.smooth > best.smooth + (error if FAMILIES[top.family].must_prove else 0.0):
            best = top
    others = [trial for trial in trials if trial.family != best.family]
    second = max(others, key=lambda trial: trial.smooth, default=None)
    facts: dict[str, Any] = {
        "cross_validation": {
            "measure": judge.measure,
            "accuracy": round(best.score, 2),
            "error": round(judge.error(best.correct), 2),
            "rows": len(best.ranks),
            "folds": len(problem.folds),
            "candidates": len(trials),
        }
    }
    if second is not None:
        gain, error = judge.difference(best.correct, second.correct)
        found = {"objective": FAMILIES[second.family].objective, **second.settings}
        facts["runner_up"] = found | {"behind": round(gain, 2), "error": round(error, 2)}
    table = [
        {
            "objective": FAMILIES[trial.family].objective,
            **trial.settings,
            "top1": trial.score,
            "top5": trial.top5,
        }
        for trial in trials
    ]
    return best, Choice(best.family, best.settings, facts=facts, table=table)


def make_problem(
    rows: Rows,
    n_classes: int,
    plan: Plan,
    *,
    n_rows: int,
    seed: int,
    memory: int,
    measure: str = "auto",
    n_features: int | None = None,
) -> Problem | None:
    """Return what candidates are compared on; None where no class has two rows to separate.

    Models of all folds are in memory at the same time; where they do not fit, fewer are used.
    """
    labels = rows.labels
    n_folds = min(plan.n_folds, count_groups(rows.groups, labels >= 0))
    if np.bincount(labels[labels >= 0], minlength=1).max() < 2 or n_folds < 2:
        return None
    folds = draw_folds(labels, n_folds, seed=seed, groups=rows.groups)
    enough = ENOUGH_ROWS if rows.n_rows == n_rows else ENOUGH_OF_SUBSAMPLE
    fits = memory // (8 * n_classes * rows.dim)
    most = min(plan.max_folds, max(1, fits))
    used = cut_folds(rows, folds, choose_folds(folds, n_folds, enough)[:most])
    if not used:
        return None
    held = np.concatenate([fold.numbers for fold in used])
    judge = Judge.of(labels, held, n_classes, measure)
    return Problem(
        used,
        n_classes,
        n_rows,
        judge,
        seed,
        memory,
        balance=judge.by_class,
        is_subsample=rows.n_rows < n_rows,
        n_features=rows.dim if n_features is None else n_features,
        extends=plan.extends,
    )


def cut_folds(rows: Rows, folds: NDArray[np.int64], used: Sequence[int]) -> list[Fold]:
    """Return those folds that hold rows out and leave two classes or more to train on."""
    found = []
    for number in used:
        kept = np.flatnonzero((folds >= 0) & (folds != number))
        held = np.flatnonzero(folds == number)
        if len(held) and len(np.unique(rows.labels[kept])) > 1:
            found.append(Fold(rows.select(kept), rows.select(held), held))
    return found
