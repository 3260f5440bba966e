"""Quality of probabilities: calibration error, Brier score, log loss, risk-coverage curve.

The curve is the error among the most confident predictions, against their fraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_BINS = 15
N_DRAWS = 200
"""Number of simulations of the calibration error of perfectly calibrated probabilities."""
CURVE_POINTS = 101
"""Points of a risk-coverage curve that are kept."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows of similar confidence: their number, mean confidence and accuracy, from 0 to 1."""

    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class CalibrationMeasures:
    """How well probabilities are calibrated.

    Attributes
    ----------
    n : number of rows.
    error : expected calibration error of the best class, in bins of equally many rows.
    chance : its mean if labels were drawn from the probabilities: what a finite number of rows
        gives to perfect probabilities.
    brier : mean over rows of the sum over classes of squared differences.
    log_loss : mean negative logarithm of the probability of the true class.
    risk_area : area under the risk-coverage curve: the error of the most confident fraction of
        rows, averaged over all fractions.
    bins : what a reliability diagram shows.
    curve : the risk-coverage curve: fraction of rows answered, and error among them, in percent.
    """

    n: int
    error: float
    chance: float
    brier: float
    log_loss: float
    risk_area: float
    bins: tuple[ReliabilityBin, ...]
    curve: tuple[tuple[float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the measures as plain JSON."""
        return {
            "n": self.n,
            "ece": self.error,
            "ece_chance": self.chance,
            "brier": self.brier,
            "log_loss": self.log_loss,
            "risk_area": self.risk_area,
            "bins": [vars(one) for one in self.bins],
            "risk_coverage": [list(point) for point in self.curve],
        }


def measure_calibration(
    confidence: NDArray[Any],
    correct: NDArray[np.bool_],
    true: NDArray[Any],
    squares: NDArray[Any],
) -> CalibrationMeasures | None:
    """Return how well probabilities are calibrated; None without rows.

    Parameters
    ----------
    confidence : the probability of the best class of each row.
    correct : whether that class is the true one.
    true : the probability of the true class, 0 for a class that the model does not know.
    squares : the sum of the squared probabilities of all classes of each row.
    """
    n = len(confidence)
    if n == 0:
        return None
    confidence, true = (np.minimum(one.astype(np.float64), 1.0) for one in (confidence, true))
    bins = cut_bins(confidence, correct)
    curve = risk_coverage(confidence, correct)
    shown = np.unique(np.linspace(1, n, CURVE_POINTS).round().astype(int)) - 1
    return CalibrationMeasures(
        n,
        calibration_error(confidence, correct),
        chance_error(confidence),
        # Rounding may give less than 0.
        max(0.0, float((squares.astype(np.float64) - 2.0 * true + 1.0).mean())),
        float(-np.log(np.maximum(true, 1e-30)).mean()),
        float(curve.mean()),
        tuple(bins),
        tuple((100.0 * (i + 1) / n, 100.0 * float(curve[i])) for i in shown),
    )


def cut_bins(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_], n_bins: int = N_BINS
) -> list[ReliabilityBin]:
    """Return bins of rows of similar confidence, each with equally many rows."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, n_bins) if len(part)]
    return [
        ReliabilityBin(len(part), float(confidence[part].mean()), float(correct[part].mean()))
        for part in parts
    ]


def calibration_error(
    confidence: NDArray[np.float64], correct: NDArray[Any], n_bins: int = N_BINS
) -> float:
    """Return the mean difference of confidence and accuracy over bins of equally many rows."""
    bins = cut_bins(confidence, correct, n_bins)
    differences = sum(one.count * abs(one.confidence - one.accuracy) for one in bins)
    return float(differences) / max(1, len(confidence))


def chance_error(confidence: NDArray[np.float64]) -> float:
    """Return the mean calibration error if the best class were right as often as it says."""
    draws = np.random.default_rng(0)
    ordered = np.sort(confidence)
    starts = [int(part[0]) for part in np.array_split(np.arange(len(ordered)), N_BINS) if len(part)]
    errors = []
    for _ in range(N_DRAWS):
        differences = ordered - (draws.random(len(ordered)) < ordered)
        errors.append(np.abs(np.add.reduceat(differences, starts)).sum() / len(ordered))
    return float(np.mean(errors))


def risk_coverage(
    confidence: NDArray[np.float64], correct: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the error among the 1, 2, ... n most confident rows, from 0 to 1."""
    order = np.argsort(-confidence, kind="stable")
    return np.cumsum(~correct[order]) / np.arange(1, len(order) + 1)
