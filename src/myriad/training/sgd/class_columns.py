"""Columns of one-vs-rest training: one binary problem each, with its own class, setting and state.

Columns share nothing but the rows. Several settings are trained together by giving every class a
column for each of them: the rows are read once, and the scores of all columns are one product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, jit
from myriad.randomness import mix, unit
from myriad.training.optimiser import FIXED, PLAIN_SGD, OptimiserOptions, Schedule
from myriad.training.settings import Setting

NEVER = np.int64(1) << np.int64(62)

COLUMN = np.dtype(
    [
        ("label", np.int64),  # the class whose rows are positive
        ("schedule", np.int64),
        ("eta", np.float64),
        ("lam", np.float64),
        ("t0", np.float64),
        ("bias_rate", np.float64),  # the learning rate of the bias as a part of eta
        ("log_miss", np.float64),  # log of the probability that a negative is not drawn
        ("max_norm", np.float64),  # bound on the norm of the weights
        ("adagrad", np.bool_),  # whether steps shrink by the root of squared gradients
        ("has_options", np.bool_),  # whether any of `OptimiserOptions` is set
        ("inverse_dim", np.float64),  # one over the number of features
    ]
)
STATE = np.dtype(
    [
        ("sigma", np.float64),  # the weights are sigma times the stored row
        ("bias", np.float64),
        ("t", np.int64),  # steps made
        ("key", np.uint64),  # of this epoch's draws
        ("n_drawn", np.int64),  # draws made in this epoch
        ("next", np.int64),  # position in the epoch of the next negative drawn
        ("squared_norm", np.float64),  # of the stored row, kept where it is bounded
        ("alpha", np.float64),  # sum of mean squared gradient entries, for adagrad [HM, 7]
        ("n_averaged", np.int64),  # steps that averages are taken over
        ("sigma_sum", np.float64),  # sum of sigma after each of these steps
        ("bias_sum", np.float64),  # and of the bias
    ]
)


def make_columns(
    settings: Sequence[Setting],
    counts: NDArray[np.int64],
    *,
    n_rows: int | None = None,
    dim: int = 1,
    bias_rate: float,
    schedule: Schedule = FIXED,
    optimiser: OptimiserOptions = PLAIN_SGD,
) -> NDArray[Any]:
    """Return the columns of every setting for every class, setting by setting.

    Parameters
    ----------
    counts : int64 array of shape (n_classes,), training rows of each class.
    n_rows : number of rows, by default one for each count.
    dim : number of features.
    bias_rate : the learning rate of the bias as a part of `eta`.
    """
    n_classes = len(counts)
    columns = np.zeros(len(settings) * n_classes, COLUMN)
    others = np.maximum((counts.sum() if n_rows is None else n_rows) - counts, 1)
    for number, setting in enumerate(settings):
        part = columns[number * n_classes : (number + 1) * n_classes]
        # A negative is drawn with probability min(1, beta N_c / (N - N_c)) [GP, 3.2]. Where a class
        # has no positives, an infinite beta means no negatives, not NaN.
        beta = math.inf if setting.beta is None else setting.beta
        negatives = np.where(counts > 0, beta * np.maximum(counts, 1), 0.0)
        with np.errstate(divide="ignore"):
            part["log_miss"] = np.log1p(-np.minimum(1.0, negatives / others))
        part["label"] = np.arange(n_classes)
        part["eta"] = setting.eta
        part["lam"] = setting.lam
        part["bias_rate"] = bias_rate
        part["schedule"], part["t0"] = schedule.number, schedule.delay(setting)
        part["max_norm"] = optimiser.max_norm
        part["adagrad"] = optimiser.adagrad == "class"
        part["has_options"] = optimiser != PLAIN_SGD
        part["inverse_dim"] = 1.0 / dim
    return columns


def drawn_share(columns: NDArray[Any]) -> float:
    """Return the expected fraction of (row, column) pairs that are drawn as negatives."""
    return float(-np.expm1(columns["log_miss"]).mean())


@inlined
def draw_next(state, log_miss):
    """Draw a column's next negative: skip a geometric number of rows.

    The number of rows skipped has the distribution that it has when each row is drawn with its own
    probability, at the cost of one logarithm per negative instead of one draw per row.
    """
    skip = 0.0 if log_miss == -np.inf else math.log(unit(mix(state.key, state.n_drawn))) / log_miss
    state.n_drawn += 1
    state.next = min(NEVER, state.next + np.int64(1) + np.int64(min(skip, 4e18)))


@jit
def begin_epoch(columns, states, seed, epoch):
    """Set the keys of the columns' draws in this epoch, and draw the first negative of each.

    The key depends on the class and not on the column's position, so that class shards draw alike.
    """
    root = mix(mix(np.uint64(seed), 0x0E7A), epoch)
    for c in range(len(columns)):
        states[c].key = mix(root, columns[c].label)
        states[c].n_drawn = 0
        states[c].next = -1
        draw_next(states[c], columns[c].log_miss)
