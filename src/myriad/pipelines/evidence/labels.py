"""Measures of the assigned labels in multi-label data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from myriad.measures import list_labels, measure_labels
from myriad.measures.calibration import calibration_error
from myriad.pipelines.evidence.documentation import Scored


def describe_labels(scored: Scored, class_names: Sequence[str]) -> dict[str, Any] | None:
    """Return precision, recall and F1 of the assigned labels as plain JSON.

    None if the model has no thresholds, as single-label models.
    """
    results = scored.results
    if "given" not in results:
        return None
    right, given, present = (results[name].sum(axis=0) for name in ("right", "given", "present"))
    found = measure_labels(right, given, present, len(results["confidence"]))
    if found is None:
        return None
    n_labels, precisions = len(given), scored.precisions
    areas = np.full(n_labels, np.nan) if precisions is None else precisions.areas
    correct = scored.guesses == scored.truths
    return found | {
        "expected": float(results["expected"].mean()),
        "calibration_error": calibration_error(results["confidence"], correct),
        "log_loss": float(results["log_loss"].mean()) / n_labels,
        "brier": float(results["brier"].mean()) / n_labels,
        "each": list_labels(class_names, right, given, present, areas),
    }
