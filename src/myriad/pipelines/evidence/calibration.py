"""The section of a model's report on its probabilities, measured on the calibration rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.measures import measure_calibration, measure_sets
from myriad.models import Calibration
from myriad.models.decisions.conformal import find_sets

REPORTED = (0.8, 0.9, 0.95, 0.99)
"""Coverages whose sets the report shows."""


def describe_calibration(calibration: Calibration | None, n_classes: int) -> dict[str, Any] | None:
    """Return measures of the probabilities as plain JSON; None without a calibration.

    Sets are measured on the tuning rows, which their thresholds do not depend on.
    """
    if calibration is None:
        return None
    measures = measure_calibration(
        calibration.confidence, calibration.ranks == 1, calibration.true, calibration.squares
    )
    assert measures is not None
    sets = [
        found for wanted in REPORTED if (found := describe_sets(calibration, wanted, n_classes))
    ]
    return calibration.to_json() | measures.to_json() | {"sets": sets}


def describe_sets(
    calibration: Calibration, coverage: float, n_classes: int
) -> dict[str, Any] | None:
    """Return coverage and sizes of the sets of tuning rows; None if rows are too few."""
    tuning = calibration.tuning_rows
    try:
        rule = find_sets(calibration, coverage, n_classes=n_classes)
    except InputError:
        return None
    probabilities = calibration.ranked.astype(np.float64)
    included = rule.include(probabilities, np.zeros(probabilities.shape, np.int32))[0]
    ranks = calibration.ranks[:tuning]
    positions = np.minimum(ranks, included.shape[1]) - 1
    covered = included[np.arange(tuning), positions] & (ranks <= included.shape[1])
    found = measure_sets(included.sum(axis=1), covered, ranks)
    return found and found | {"wanted": 100.0 * coverage, "n": tuning}
