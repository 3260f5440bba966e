"""The space of discriminant analysis for very many classes, chosen on a sample of the classes.

Covariances are those of all training rows, whose classes are too many to train softmax for every
value of lam. So the values are compared by softmax on the rows of some classes alone, projected
into the space of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from myriad.randomness import generator
from myriad.store import ArrayRows, Rows
from myriad.training.automatic.discriminant_families import ProjectedSoftmax
from myriad.training.automatic.folds import Judge
from myriad.training.automatic.trials import Fold, Problem
from myriad.training.context import Context
from myriad.training.discriminant.moments import ClassMoments

SAMPLED_CLASSES, SAMPLED_ROWS = 500, 10_000
"""Classes that values of lam are compared on, and rows of theirs, at most."""


def choose_space(
    train: Rows, val: Rows, n_classes: int, *, seed: int, memory: int, context: Context
) -> float | None:
    """Return lam of the space in which softmax ranks validation rows of some classes best.

    None where fewer than two classes have training and validation rows.
    """
    present = np.intersect1d(train.labels[train.labels >= 0], val.labels)
    if len(present) < 2:
        return None
    draws = generator(seed, "classes to choose a space by")
    classes = np.sort(draws.permutation(present)[:SAMPLED_CLASSES])
    kept, held = (_read_classes(rows, classes, draws) for rows in (train, val))
    numbers = np.arange(held.n_rows)
    problem = Problem(
        [Fold(kept, held, numbers)],
        len(classes),
        train.n_rows,
        Judge.of(held.labels, numbers, len(classes)),
        seed,
        memory,
        n_features=train.dim,
    )
    with context.open() as running:
        moments = ClassMoments.collect(train, n_classes, pool=running.pool)
        title = f"Comparing spaces of plda on {len(classes):,} classes"
        with running.progress.step(title, None, "epochs") as advance:
            lam, _ = ProjectedSoftmax(problem, running).choose_space(problem, [moments], advance)
    return lam


def _read_classes(rows: Rows, classes: NDArray[np.int32], draws: np.random.Generator) -> ArrayRows:
    """Return rows of some classes in memory, labelled by positions in `classes`."""
    chosen = np.flatnonzero(np.isin(rows.labels, classes))
    chosen = np.sort(draws.permutation(chosen)[:SAMPLED_ROWS])
    names = [str(c) for c in classes]
    return ArrayRows(rows.read(chosen), np.searchsorted(classes, rows.labels[chosen]), names)
