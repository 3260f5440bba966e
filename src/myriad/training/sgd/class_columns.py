"""Columns: one binary problem each, with its own class, settings and state.

One-vs-rest training is a set of columns that share nothing but the rows. Several settings are
trained together by giving every class a column for each of them: the rows are read once, and the
scores of all columns are one product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad._jit import inlined, jit
from myriad.randomness import mix, unit
from myriad.training.engine.optimiser_options import PLAIN_SGD, OptimiserOptions
from myriad.training.schedules import FIXED, Schedule
from myriad.training.settings import Setting

NEVER = np.int64(1) << np.int64(62)

COLUMN = np.dtype(
    [
        ("label", np.int64),  # the class whose rows are positive
        ("schedule", np.int64),
        ("eta", np.float64),
        ("lam", np.float64),
        ("t0", np.float64),
        ("bias_rate", np.float64),  # the step of the bias as a part of eta
        ("log_miss", np.float64),  # log of the probability that a negative is not drawn
        ("max_norm", np.float64),  # the most that the norm of the weights may be
        ("adagrad", np.bool_),  # whether steps shrink by the root of squared gradients
        ("conditioned", np.bool_),  # whether any of `OptimiserOptions` is wanted
        ("feature_share", np.float64),  # one over the number of features
    ]
)
STATE = np.dtype(
    [
        ("sigma", np.float64),  # the weights are sigma times the stored row
        ("bias", np.float64),
        ("t", np.int64),  # steps made
        ("key", np.uint64),  # of this epoch's draws
        ("drawn", np.int64),  # how many draws were made in this epoch
        ("next", np.int64),  # position in the epoch of the next negative
        ("square", np.float64),  # squared norm of the stored row, where norms are bounded
        ("alpha", np.float64),  # sum of mean squared gradient entries, where steps shrink by it
        ("window", np.int64),  # steps that the average is taken over
        ("scales", np.float64),  # sum of the scales after these steps
        ("bias_sum", np.float64),  # sum of the biases after them
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
    bias_rate : the step of the bias as a part of `eta`.
    """
    n_classes = len(counts)
    columns = np.zeros(len(settings) * n_classes, COLUMN)
    others = np.maximum((counts.sum() if n_rows is None else n_rows) - counts, 1)
    for number, setting in enumerate(settings):
        part = columns[number * n_classes : (number + 1) * n_classes]
        # A beta of infinity times no positive at all is no negative, not NaN.
        beta = math.inf if setting.beta is None else setting.beta
        layout = np.where(counts > 0, beta * np.maximum(counts, 1), 0.0)
        with np.errstate(divide="ignore"):
            part["log_miss"] = np.log1p(-np.minimum(1.0, layout / others))
        part["label"] = np.arange(n_classes)
        part["eta"] = setting.eta
        part["lam"] = setting.lam
        part["bias_rate"] = bias_rate
        part["schedule"], part["t0"] = schedule.number, schedule.delay(setting)
        part["max_norm"] = optimiser.max_norm
        part["adagrad"] = optimiser.adagrad == "class"
        part["conditioned"] = optimiser != PLAIN_SGD
        part["feature_share"] = 1.0 / dim
    return columns


def drawn_share(columns: NDArray[Any]) -> float:
    """Return the share of (row, column) pairs that are drawn as negatives."""
    return float(-np.expm1(columns["log_miss"]).mean())


@inlined
def advance(state, log_miss):
    """Move a column's next negative on: skip a geometric number of rows.

    Rows are skipped by the same law as if each were drawn with its own probability, at the cost of
    one logarithm a negative instead of one draw a row.
    """
    skip = 0.0 if log_miss == -np.inf else math.log(unit(mix(state.key, state.drawn))) / log_miss
    state.drawn += 1
    state.next = min(NEVER, state.next + np.int64(1) + np.int64(min(skip, 4e18)))


@jit
def begin_epoch(columns, states, seed, epoch):
    """Give every column the draws of this (seed, epoch): a function of its class, not its place."""
    root = mix(mix(np.uint64(seed), 0x0E7A), epoch)
    for c in range(len(columns)):
        states[c].key = mix(root, columns[c].label)
        states[c].drawn = 0
        states[c].next = -1
        advance(states[c], columns[c].log_miss)
