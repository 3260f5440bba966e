"""The held-out scores that calibrate the chosen candidate.

Models of a search are trained on fewer rows than the final model. Its scores are larger, because it
has made more steps, and it is more often right. The first makes probabilities too high that are
calibrated by models of fewer rows, the second makes them too low and prediction sets too large,
most of all where classes have few rows. The logarithms of the best temperature and of the log loss
at this temperature are nearly linear in the logarithm of the number of rows, and a model of half of
the rows shows their slopes. Held-out scores are multiplied so that their best temperature is that
of the final model, and the final model is expected to miss the true class less often by as much as
its log loss is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from myriad.models import LinearModel
from myriad.models.calibration.classes import fit_scale
from myriad.models.calibration.held_scores import MOST_ROWS, HeldScores
from myriad.randomness import generator
from myriad.store import Rows
from myriad.training.automatic.choice import Choice
from myriad.training.automatic.families import FAMILIES
from myriad.training.automatic.priors import correct_priors, find_prior_weight, log_priors
from myriad.training.automatic.trials import Fold, FoldModels, Problem
from myriad.training.context import RunningContext
from myriad.training.validation import count_block_rows, cut_ranges

ENOUGH_TO_CALIBRATE = 1200
"""Held-out rows that are enough where the models of the search were not kept, so that the chosen
candidate is trained once more on each fold that calibrates it."""
LEAST_DIFFERENCE = 1.25
"""Minimum ratio of the sizes of two sets of rows whose models show how temperatures change."""
MOST_RATIO = 3.0
"""Maximum ratio of numbers of rows for which the change is extrapolated."""
UNCHANGED_ROWS = 50
"""The estimated change is reduced as if so many further held-out rows had shown none."""


@dataclass(frozen=True)
class Change:
    """How a model of all rows is expected to differ from those of the folds.

    Attributes
    ----------
    scale : its best inverse temperature, divided by theirs.
    loss : its log loss at this temperature, divided by theirs.
    """

    scale: float = 1.0
    loss: float = 1.0


def score_chosen(
    kept: FoldModels,
    choice: Choice,
    problem: Problem,
    labels: NDArray[np.int32],
    running: RunningContext,
) -> tuple[Choice, HeldScores]:
    """Return the choice with its weight of priors and its ratio of misses, and held-out scores.

    Parameters
    ----------
    kept : models of the chosen candidate, as the search has trained them; empty if they were not
        kept, in which case they are trained again.
    labels : int32 array of shape (n_rows,), the labels of all rows of the search.
    """
    if len(kept) == len(problem.folds):
        models = [expand() for expand in kept]
    else:
        # Where classes with few rows count as much as others, all rows are needed.
        if not problem.judge.by_class:
            problem = replace(problem, folds=problem.first_folds(ENOUGH_TO_CALIBRATE))
        models = train_folds(choice, problem, running)
    scores = score_folds(models, problem.folds)
    priors = np.zeros(problem.n_classes)
    if problem.judge.by_class:
        priors = log_priors(labels, problem.n_classes)
        choice = replace(choice, prior_weight=find_prior_weight(scores, priors, problem.judge))
        models = [correct_priors(model, choice.prior_weight, priors) for model in models]
        scores = score_folds(models, problem.folds)
    change = predict_change(choice, scores, priors, problem, running)
    choice = replace(choice, miss_ratio=max(1.0, 1.0 / change.loss))
    return choice, scores.scaled(1.0 / change.scale)


def train_folds(choice: Choice, problem: Problem, running: RunningContext) -> list[LinearModel]:
    """Return models of the chosen candidate, each without the held-out rows of a fold."""
    title, models = "Cross-validation: chosen settings", []
    with running.progress.step(title, len(problem.folds), "folds") as advance:
        for fold in problem.folds:
            models.append(train_chosen(choice, fold.train, problem, running))
            advance(1)
    return models


def train_chosen(
    choice: Choice, rows: Rows, problem: Problem, running: RunningContext
) -> LinearModel:
    """Return the model of the chosen candidate that is trained on some rows of the problem."""
    family = FAMILIES[choice.family]
    settings = family.for_rows(choice.settings, rows.n_rows / problem.n_rows)
    method = family.settle(settings, rows.labels, problem.n_classes, seed=problem.seed)
    method = family.for_calibration(method)
    context = replace(running, checkpoint=None, workers=None, products=None)
    fitted = method.fit(rows, None, n_classes=problem.n_classes, context=context)
    return cast(LinearModel, fitted.model)


def score_folds(models: Sequence[LinearModel], folds: Sequence[Fold]) -> HeldScores:
    """Return the scores of held-out rows, each by the model without its fold."""
    parts, left = [], MOST_ROWS
    for model, fold in zip(models, folds, strict=True):
        held = fold.held.select(np.arange(min(left, fold.held.n_rows)))
        for some in cut_ranges(held, count_block_rows(held.dim, model.n_classes)):
            scores = model.scores(held.read(some))
            part = HeldScores.of(scores, held.labels[some.start : some.stop])
            parts.append(replace(part, numbers=fold.numbers[some.start : some.stop]))
        left -= held.n_rows
    return HeldScores.concatenate(parts)


def predict_change(
    choice: Choice,
    scores: HeldScores,
    priors: NDArray[np.float64],
    problem: Problem,
    running: RunningContext,
) -> Change:
    """Return how the final model is expected to differ from the models of the folds.

    Parameters
    ----------
    scores : of the held-out rows of all folds; those of the first fold are compared with those of a
        model of half of its training rows.
    """
    fold = problem.folds[0]
    rows = fold.train.select(draw_half(fold.train.labels, seed=problem.seed))
    if fold.train.n_rows < LEAST_DIFFERENCE * rows.n_rows or len(np.unique(rows.labels)) < 2:
        return Change()
    with running.progress.step("Cross-validation: half of the rows", 1, "models") as advance:
        model = train_chosen(choice, rows, problem, running)
        advance(1)
    model = correct_priors(model, choice.prior_weight, priors)
    fewer = score_folds([model], [fold])
    scale, loss = fit_scale(scores.select(np.arange(len(fewer))))
    scale_of_fewer, loss_of_fewer = fit_scale(fewer)
    if min(loss, loss_of_fewer) <= 0.0:  # no finite scores
        return Change()
    ratio = min(problem.n_rows / fold.train.n_rows, MOST_RATIO)
    exponent = math.log(ratio) / math.log(fold.train.n_rows / rows.n_rows)
    exponent *= len(fewer) / (len(fewer) + UNCHANGED_ROWS)
    return Change(
        scale=math.exp((scale - scale_of_fewer) * exponent),
        loss=(loss / loss_of_fewer) ** exponent,
    )


def draw_half(labels: NDArray[np.int32], *, seed: int) -> NDArray[np.int64]:
    """Return the numbers of half of the rows of each class, rounded up, in order."""
    order = generator(seed, "half of the rows").permutation(np.flatnonzero(labels >= 0))
    order = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels[order])
    positions = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[2 * positions < counts[labels[order]]])
