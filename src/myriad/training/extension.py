"""Classes trained beside fixed ones, by multinomial logistic regression.

See `extension_problem` for the loss. The new scores are on the scale of the old ones, whichever
objective these were trained with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.models import LinearModel
from myriad.parallel import ThreadPool
from myriad.progress import Advance
from myriad.training.automatic.folds import choose_folds, draw_folds
from myriad.training.extension_adjustment import adjust
from myriad.training.extension_problem import FixedScores, Problem

N_FOLDS = 3
STRENGTHS = (1e-4, 1e-5, 1e-6)
"""Regularisation strengths that are tried, times the mean squared norm of the rows."""


@dataclass(frozen=True, eq=False)
class Trained:
    """The classes that were trained, with settings and held-out scores.

    Attributes
    ----------
    model : their weights and biases, adjusted.
    lam : regularisation strength, relative to the mean squared norm of the rows.
    factor, offset : how the scores were adjusted: multiplied by the first, plus the second.
    held : numbers of the held-out rows.
    held_scores : float32 array of shape (n_held, n_trained), the adjusted scores of the trained
        classes by weights that were found without these rows.
    """

    model: LinearModel
    lam: float
    factor: float
    offset: float
    held: NDArray[np.int64]
    held_scores: Float


def train_beside(
    X: Float,
    targets: Ints,
    n_trained: int,
    fixed: FixedScores,
    scale: float,
    *,
    anchor: LinearModel | None = None,
    weights: NDArray[np.float64] | None = None,
    groups: Ints | None = None,
    seed: int,
    pool: ThreadPool,
    advance: Advance = lambda n: None,
) -> Trained:
    """Train some classes beside fixed ones; the regularisation is chosen by cross-validation.

    The scores of held-out rows also adjust those of the trained classes; see `adjust`.

    Parameters
    ----------
    X : float32 array of shape (n_rows, n_features), rows of all classes.
    targets : int32 array of shape (n_rows,), the number of a row's class among those trained; -1
        for rows of fixed classes.
    fixed : the scores of the fixed classes for these rows.
    scale : inverse temperature of the fixed classes.
    anchor : weights towards which the trained ones are regularised, zero by default.
    weights : for how many rows each one counts when scores are adjusted; None to leave them.
    groups : rows of one group are never divided; see `draw_folds`.
    """
    problem = Problem(X, targets, n_trained, fixed, scale, anchor, pool)
    # Folds are stratified by the trained classes; rows of fixed ones are all alike here.
    folds = draw_folds(targets + 1, N_FOLDS, seed=seed, groups=groups)
    parts = []
    for fold in choose_folds(folds, N_FOLDS):
        held = np.flatnonzero(folds == fold)
        training = problem.select(np.flatnonzero(folds != fold)).thinned(seed)
        some = None if weights is None else weights[held]
        parts.append(HeldOut(training, held, X[held], targets[held], fixed.select(held), some))
    # The loss changes little along the path: one fold is enough to choose, all of them to adjust.
    # Other folds start from scratch, as the first one was trained on the rows that they hold out.
    lam, parameters = parts[0].choose_lam()
    advance(1)
    scores = [parts[0].score(parameters)]
    for part in parts[1:]:
        scores.append(part.score(part.training.minimise(lam, part.training.start())))
        advance(1)
    whole = problem.thinned(seed)
    model = whole.make_model(whole.minimise(lam, parameters))
    advance(1)
    held, held_scores = np.concatenate([part.rows for part in parts]), np.concatenate(scores)
    some = None if weights is None else weights[held]
    found = adjust(fixed.log_sums[held], scale * held_scores, targets[held], some, seed=seed)
    factor, offset = np.float32(found.factor), np.float32(found.shift / scale)
    return Trained(
        LinearModel(factor * model.weights, factor * model.biases + offset),
        lam,
        float(factor),
        float(offset),
        held,
        factor * held_scores + offset,
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A fold: the problem of the other rows, and the rows that are held out.

    Attributes
    ----------
    training : the problem without the held-out rows.
    rows : int64 array of shape (n_held,), the numbers of the held-out rows.
    X, targets, fixed, weights : these rows, see `train_beside`.
    """

    training: Problem
    rows: NDArray[np.int64]
    X: Float
    targets: Ints
    fixed: FixedScores
    weights: NDArray[np.float64] | None

    def choose_lam(self) -> tuple[float, NDArray[np.float64]]:
        """Train from strong to weak regularisation until the log loss of held-out rows rises.

        Return the best strength, and the parameters that were found with it.
        """
        path, losses = [self.training.start()], []
        for lam in STRENGTHS:
            path.append(self.training.minimise(lam, path[-1]))
            losses.append(self.measure(self.score(path[-1])))
            if losses[-1] > min(losses):
                break
        best = int(np.argmin(losses))
        return STRENGTHS[best], path[1 + best]

    def score(self, parameters: NDArray[np.float64]) -> Float:
        """Return the scores of the trained classes for the held-out rows, (n_held, n_trained)."""
        return self.training.make_model(parameters).scores(self.X)

    def measure(self, scores: Float) -> float:
        """Return the log loss of the held-out rows by the scores of trained classes, adjusted."""
        logits = self.training.scale * scores
        return adjust(self.fixed.log_sums, logits, self.targets, self.weights).loss
