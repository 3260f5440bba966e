"""Prediction sets with coverage: conformal prediction from calibration rows.

A set holds every class whose nonconformity is at most a threshold, which is a quantile of the
nonconformity of the true classes of the calibration rows. If these and the row are exchangeable,
the true class is in the set with the target probability, for any model.

``raps`` sums the probabilities of all classes ranked above a class, and adds a penalty for each
rank beyond some: sets grow with the uncertainty of a row, and stay small with many classes.
The best class has the nonconformity 0, so that no set is empty and nothing has to be drawn at
random. ``lac`` is 1 minus the probability of a class: the smallest sets on average, but easy
rows are covered more often than hard rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.models.calibration.classes import Calibration

SET_METHODS = ("raps", "lac")
PENALTIES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3)
"""Penalties for each rank that are compared."""


@dataclass(frozen=True, eq=False)
class SetRule:
    """The rule by which classes are in the prediction set of a row.

    Attributes
    ----------
    method : one of `SET_METHODS`.
    coverage : the target probability that the true class is in the set.
    thresholds : float64 array of shape (1,), or (n_classes,) with a threshold for each class.
    penalty, free : of ``raps``: what each rank beyond the first `free` ones adds.
    """

    method: str
    coverage: float
    thresholds: NDArray[np.float64]
    penalty: float = 0.0
    free: int = 1

    def include(
        self, probabilities: NDArray[np.float64], labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which of the best classes are in the sets, and whether worse ones may be.

        Parameters
        ----------
        probabilities, labels : arrays of shape (n_rows, k), best classes first.
        """
        values = self._nonconformity(probabilities)
        thresholds = self.thresholds[labels] if len(self.thresholds) > 1 else self.thresholds
        included = (values <= thresholds) & (probabilities > 0)
        included[:, 0] = True
        # Nonconformity rises with the rank: beyond the largest threshold, no class follows.
        open_ = (values[:, -1] <= self.thresholds.max()) & (probabilities[:, -1] > 0)
        return included, open_

    def _nonconformity(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.method == "lac":
            return 1.0 - probabilities
        ranks = np.arange(1, probabilities.shape[1] + 1)
        above = np.cumsum(probabilities, axis=1) - probabilities
        return add_penalty(above, ranks, self.penalty, self.free)


def find_sets(
    calibration: Calibration,
    coverage: float,
    *,
    method: str = "raps",
    by_class: bool = False,
    n_classes: int,
) -> SetRule:
    """Return the rule of prediction sets with a target coverage.

    The penalty of ``raps`` is chosen by rows that are then left out of the quantile, so that the
    choice does not invalidate the coverage.

    Parameters
    ----------
    by_class : whether the coverage should hold for each class. Classes with too few
        calibration rows share the threshold of all rows.
    """
    check_coverage(coverage)
    target = coverage_to_calibrate(coverage, calibration.miss_ratio)
    if method not in SET_METHODS:
        raise InputError(f"Prediction sets are {' or '.join(SET_METHODS)}, not {method!r}.")
    tuning = calibration.tuning_rows if method == "raps" else 0
    needed = rows_needed(coverage)
    if calibration.n_rows - tuning < needed:
        tuning = 0  # too few rows to choose the penalty: use a fixed one
    if calibration.n_rows < needed:
        raise InputError(
            f"A coverage of {coverage:g} needs at least {needed} calibration rows, but the model "
            f"has {calibration.n_rows}: ask for less, or train with more rows."
        )
    penalty, free = 0.0, 1
    if method == "lac":
        values = 1.0 - calibration.true.astype(np.float64)
    else:
        penalty, free = choose_penalty(calibration, target) if tuning else (PENALTIES[2], 5)
        above = calibration.above[tuning:].astype(np.float64)
        values = add_penalty(above, calibration.ranks[tuning:], penalty, free)
    thresholds = np.array([find_quantile(values, target)])
    if by_class:
        labels = calibration.labels[tuning:]
        thresholds = np.full(n_classes, thresholds[0])
        for c in np.flatnonzero(np.bincount(labels, minlength=n_classes) >= needed):
            thresholds[c] = find_quantile(values[labels == c], target)
    return SetRule(method, coverage, thresholds, penalty, free)


def check_coverage(coverage: float) -> None:
    """Raise `InputError` unless a coverage is between 0 and 1."""
    if not 0.0 < coverage < 1.0:
        raise InputError(f"A coverage must be above 0 and below 1, not {coverage:g}.")


def coverage_to_calibrate(coverage: float, miss_ratio: float) -> float:
    """Return the coverage of calibration rows at which the final model reaches another one.

    The odds that a set misses the true class are multiplied by `miss_ratio`: for a few percent,
    that is the probability itself.
    """
    odds = miss_ratio * (1.0 - coverage) / coverage
    return 1.0 / (1.0 + odds)


def rows_needed(coverage: float) -> int:
    """Return the minimum number of rows with which a coverage can be guaranteed."""
    return math.ceil(round(coverage / (1.0 - coverage), 9))


def find_quantile(values: NDArray[np.float64], coverage: float) -> float:
    """Return the conformal quantile, which a new value exceeds with probability 1 - `coverage`."""
    n = len(values)
    position = math.ceil(round((n + 1) * coverage, 9))
    return float(np.partition(values, position - 1)[position - 1])


def add_penalty(
    above: NDArray[np.float64], ranks: NDArray[np.generic], penalty: float, free: int
) -> NDArray[np.float64]:
    """Return the nonconformity of ``raps``."""
    return above + penalty * np.maximum(ranks.astype(np.float64) - free, 0.0)


def choose_penalty(calibration: Calibration, coverage: float) -> tuple[float, int]:
    """Return the penalty with the smallest sets on the tuning rows, and the free ranks.

    The number of free ranks is the quantile of the ranks of true classes at the coverage.
    """
    tuning = calibration.tuning_rows
    ranks, above = calibration.ranks[:tuning], calibration.above[:tuning].astype(np.float64)
    probabilities = calibration.ranked.astype(np.float64)
    sums = np.cumsum(probabilities, axis=1) - probabilities
    free = int(np.quantile(ranks, coverage, method="higher"))
    columns = np.arange(1, sums.shape[1] + 1)
    sizes = []
    for penalty in PENALTIES:
        threshold = np.quantile(add_penalty(above, ranks, penalty, free), coverage)
        sizes.append((add_penalty(sums, columns, penalty, free) <= threshold).sum(axis=1).mean())
    return PENALTIES[int(np.argmin(sizes))], free
