"""A regularisation strength for each class: one-vs-rest decomposes over classes [LS].

Each class is a separate problem, ``lam_c/2 |w_c|^2 + loss_c``, so that each may have its own lam:
the one with the least loss of the class on held-out rows. The classes follow the same path of lam
together, which costs as much as a search of one lam for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from myriad.objectives import DUAL_LOSSES
from myriad.store import Rows
from myriad.training.context import RunningContext
from myriad.training.dual.ascent import DualTrainer
from myriad.training.dual.method import WORSE_IN_A_ROW
from myriad.training.dual.one_vs_rest import row_weights
from myriad.training.dual.one_vs_rest_kernels import DUAL_SIDE, sum_losses
from myriad.training.stopping import Row

if TYPE_CHECKING:
    from myriad.training.dual.svms import BinaryDual

BLOCK = 1024
"""Held-out rows that are scored at a time."""
NEAR = 0.01
"""A loss is near another if it is larger by this fraction of the loss at the strongest lam."""


def choose_lams(
    method: BinaryDual, train: Rows, val: Rows, n_classes: int, running: RunningContext
) -> tuple[NDArray[np.float64], list[dict[str, Any]]]:
    """Return the lam of each class, and a table of the values tried.

    The path ends when the loss of no class has improved for `WORSE_IN_A_ROW` values.
    """
    path = method.list_lams(train)
    losses: list[NDArray[np.float64]] = []
    table: list[dict[str, Any]] = []

    def measure(trainer: DualTrainer, row: Row) -> bool:
        losses.append(measure_losses(method, *trainer.weights(), val))
        del row["primal"]
        table.append(row | {"loss": float(losses[-1].sum())})
        return bool((find_first(np.array(losses)) <= len(losses) - 1 - WORSE_IN_A_ROW).all())

    method.walk_path(path, train, n_classes, measure, running=running)
    return pick_lams(np.array(path[: len(losses)]), np.array(losses), val, n_classes), table


def measure_losses(
    method: BinaryDual, W: NDArray[Any], b: NDArray[Any], val: Rows
) -> NDArray[np.float64]:
    """Return the loss of each class on held-out rows, weighted as in training."""
    n_classes, sets = len(W), val.all_labels
    sides = np.zeros((n_classes, 2), DUAL_SIDE)
    weights = method.read_class_weights(n_classes)
    sides["weight"] = row_weights(sets.counts(n_classes), val.n_rows, method.beta, weights)
    totals = np.zeros(n_classes)
    for start in range(0, val.n_rows, BLOCK):
        some = range(start, min(start + BLOCK, val.n_rows))
        S = val.read(some).astype(np.float64) @ W.T.astype(np.float64) + b
        positive = sets.part(slice(some.start, some.stop)).to_matrix(n_classes)
        sum_losses(S, positive, sides, DUAL_LOSSES[method.loss], totals)
    return totals


def find_first(losses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index of the first entry of each column that is near the smallest one."""
    near = losses <= losses.min(axis=0) + NEAR * losses[0]
    found: NDArray[np.int64] = near.argmax(axis=0)
    return found


def pick_lams(
    path: NDArray[np.float64], losses: NDArray[np.float64], val: Rows, n_classes: int
) -> NDArray[np.float64]:
    """Return the largest lam of each class whose held-out loss is near the smallest one.

    The loss of a class that is separable from the others decreases with lam without end, by less
    and less, while training takes longer and longer. A class without held-out rows has the lam of
    all classes together.

    Parameters
    ----------
    losses : float64 array of shape (len(path), n_classes).
    """
    lams, together = path[find_first(losses)], path[find_first(losses.sum(axis=1)[:, None])]
    return np.where(val.all_labels.counts(n_classes) > 0, lams, together)
