"""Calibration of a model that more classes were trained beside.

Held-out scores of the old classes are those that the old model kept. The scores of the new classes
for such a row are not known, as the row is gone; those of another held-out row of its class stand
for them. Rows of the new classes were held out by cross-validation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models import Calibration, HeldScores, Model, calibrate
from myriad.models.calibration.classes import sum_log
from myriad.models.calibration.held_classes import add_classes, join_held
from myriad.models.calibration.novelty import Novelty, project
from myriad.randomness import generator

SCALE_ROWS = 5000
"""Rows that a temperature is found from, where the model has none."""


def join_held_scores(
    old: HeldScores, labels: Ints, old_scores: HeldScores, new_scores: Float, n_old: int, seed: int
) -> HeldScores:
    """Return held-out scores of all classes for rows of old and of new ones.

    Parameters
    ----------
    old : held-out scores of the old classes, as the model kept them.
    labels : int32 array of shape (n_held,), the classes of rows that were held out now.
    old_scores : the scores of the old classes for the rows of new classes among these.
    new_scores : float32 array of shape (n_held, n_new), those of the new classes for all of them.
    """
    partners = pair_by_class(old.labels, labels, n_old, seed=seed)
    both = add_classes(old, new_scores[partners], n_old)
    new = np.flatnonzero(labels >= n_old)
    if len(new) == 0:
        return both
    added = add_classes(old_scores, new_scores[new], n_old)
    return join_held([both, added])


def pair_by_class(first: Ints, second: Ints, n_old: int, *, seed: int) -> NDArray[np.int64]:
    """Return for each of some rows the position of another row of the same old class.

    A class without one takes any row of an old class.
    """
    draws = generator(seed, "rows that stand for others")
    order = draws.permutation(len(second))
    order = order[np.argsort(second[order], kind="stable")]
    order = order[second[order] < n_old]
    starts = np.searchsorted(second[order], first)
    ends = np.searchsorted(second[order], first, side="right")
    positions = starts + (draws.random(len(first)) * (ends - starts)).astype(np.int64)
    anywhere = draws.integers(len(order), size=len(first))
    return order[np.where(ends > starts, positions, anywhere)]


def find_margins(held: HeldScores, scale: float) -> NDArray[np.float64]:
    """Return how far the true class of held-out rows leads the sum of all others, scaled.

    See `FixedScores.like_held_out`.
    """
    true = scale * held.true.astype(np.float64)
    sums = sum_log(held, np.full(len(held), scale), np.zeros(len(held)))
    others = sums + np.log(-np.expm1(np.minimum(true - sums, -1e-12)))
    found: NDArray[np.float64] = true - others
    return found


def find_scale(calibration: Calibration | None, model: Model, X: Float, labels: Ints) -> float:
    """Return the inverse temperature of a model: that of its calibration, or of rows.

    Parameters
    ----------
    X, labels : rows of the classes of the model, which it may have been trained on; the
        temperature is then a little too low.
    """
    if calibration is not None:
        return calibration.scale
    order = generator(0, "rows that find a temperature").permutation(len(X))[:SCALE_ROWS]
    found = calibrate(HeldScores.of(model.scores(X[order]), labels[order]), "validation")
    return 1.0 if found is None else found.scale


def calibrate_grown(
    held: HeldScores | None, source: str, novelty: Novelty | None
) -> Calibration | None:
    """Return the calibration of a model with more classes; None if too few rows are held out."""
    found = None if held is None else calibrate(held, source)
    return None if found is None else replace(found, novelty=novelty)


def add_points(novelty: Novelty, X: Float, labels: Ints, n_new: int) -> Novelty:
    """Return a novelty score that knows more classes.

    Parameters
    ----------
    X, labels : rows, and the number of each among the new classes; negative ones are left out.
    """
    points = np.full((n_new, len(novelty.directions)), np.nan, np.float32)
    for c in range(n_new):
        own = X[labels == c]
        if len(own):
            points[c] = project(own, novelty.mean, novelty.directions)[0].mean(axis=0)
    return replace(novelty, points=np.concatenate([novelty.points, points]))
