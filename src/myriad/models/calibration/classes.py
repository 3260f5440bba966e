"""Calibration: from scores to probabilities, fitted on rows that the model was not trained on.

The probability of class c is proportional to ``exp(beta s_c)``. The inverse temperature beta is one
number for all rows, times a factor that depends on the best score of the row:
the confidence of one-vs-rest depends on the level of scores, not only on differences. The best
class is multiplied by a number of at least 1, which grows with its margin over the second best:
with many classes, one temperature that suits the many bad ones makes the best one too small, most
of all where it is far ahead. The order of the classes never changes. All
are found by minimising the log loss of the calibration rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models.calibration.held_scores import HeldScores
from myriad.models.calibration.novelty import Novelty
from myriad.randomness import generator
from myriad.serialisation import Serialisable, later_field

SOURCES = {
    "cross-fitted": "cross-validation: rows scored by models that were not trained on them",
    "validation": "validation rows, as scored before the final training on all rows",
    "split": "rows held out for this purpose",
    "extended": "held-out rows of the model that was extended, and of the new classes",
}
"""Where calibration rows come from."""
LEAST_ROWS = 50
"""Minimum number of calibration rows: with fewer, the temperature is off by 10 % or more."""
PENALTY = 10.0
"""Penalty on the squared slope, bonus and gain in the sum of log losses."""
MOST_MARGIN = 20.0
"""Margin between the best two logits beyond which the bonus is constant: exponentials stay finite.
"""
RANGE = 12.0
"""How far the logarithm of the scale may be from a first guess."""
MOST_TUNING = 1000
"""Maximum number of rows, at most a fifth, on which settings of prediction sets are chosen."""
MOST_EXPONENT = 3.0
"""Standard deviations from the mean best score beyond which the temperature is constant."""


@dataclass(frozen=True, eq=False)
class Calibration(Serialisable, kind="calibration"):
    """The map from scores to probabilities, with statistics of the calibration rows.

    Attributes
    ----------
    scale : the inverse temperature of a row whose best score is `centre`.
    slope : increase of its logarithm for each `spread` that the best score is above `centre`.
    centre, spread : mean and standard deviation of the best scores of calibration rows.
    bonus : the logarithm of the factor of the probability of the best class, before all
        are divided by their sum, if the second best class has the same score.
    gain : increase of that logarithm for each unit by which the best logit, a score times the
        inverse temperature, is above the second best.
    source : where the calibration rows come from; one of `SOURCES`.
    labels : int32 array of shape (n_rows,), the true classes of the calibration rows.
    ranks : int32 array of shape (n_rows,), the rank of the true class, 1 for the best.
    confidence : float32 array of shape (n_rows,), the probability of the best class.
    squares : float32 array of shape (n_rows,), the sum of the squares of all probabilities.
    true, above : float32 arrays of shape (n_rows,), the probability of the true class, and the sum
        of those of all classes ranked above it.
    ranked : float32 array of shape (n_tuning, k), the probabilities of the best classes of the
        first rows, from which settings of prediction sets are chosen. Rows are in random order.
    novelty : how unlike all classes a row is; None if that was not learned.
    miss_ratio : the probability that a prediction set of the models that scored these rows misses
        the true class, divided by that of the final model; an estimate of at least 1.
    """

    scale: float
    slope: float
    centre: float
    spread: float
    bonus: float
    source: str
    labels: Ints = field(repr=False)
    ranks: Ints = field(repr=False)
    confidence: Float = field(repr=False)
    squares: Float = field(repr=False)
    true: Float = field(repr=False)
    above: Float = field(repr=False)
    ranked: Float = field(repr=False)
    novelty: Novelty | None = field(default=None, repr=False)
    gain: float = later_field(0.0)
    miss_ratio: float = later_field(1.0)

    def __post_init__(self) -> None:
        numbers = (
            *(self.scale, self.slope, self.centre, self.spread),
            *(self.bonus, self.gain, self.miss_ratio),
        )
        if not all(isinstance(number, float) and math.isfinite(number) for number in numbers):
            raise InputError("The temperature of the calibration is not a number.")
        positive, least = min(self.scale, self.spread), min(self.bonus, self.gain)
        if positive <= 0 or least < 0 or self.miss_ratio < 1 or self.source not in SOURCES:
            raise InputError("The calibration of the model has a value that is out of range.")
        arrays = (self.labels, self.ranks, self.confidence, self.squares, self.true, self.above)
        if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
            raise InputError("The calibration of the model lacks its rows.")
        if len({len(array) for array in arrays}) != 1 or len(self.labels) == 0:
            raise InputError("The calibration rows of the model do not fit together.")
        if not isinstance(self.ranked, np.ndarray) or self.ranked.ndim != 2:
            raise InputError("The calibration of the model lacks the probabilities of its rows.")

    @property
    def n_rows(self) -> int:
        """The number of calibration rows."""
        return len(self.labels)

    @property
    def tuning_rows(self) -> int:
        """The number of leading rows on which settings of prediction sets are chosen."""
        return len(self.ranked)

    @property
    def temperature(self) -> float:
        """The temperature of a row with the mean best score."""
        return 1.0 / self.scale

    def scales(self, best: Float) -> Float:
        """Return the inverse temperature of rows with the best scores `best`, float32."""
        found = find_scales(math.log(self.scale), self.slope, self.standardise(best))
        return found.astype(np.float32)

    def bonuses(self, best: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        """Return the logarithms of the factors of the best classes of rows.

        Parameters
        ----------
        best, second : arrays of shape (n_rows,), the two largest logits of each row.
        """
        return self.bonus + self.gain * find_margins(best, second)

    def standardise(self, best: Float) -> NDArray[np.float64]:
        """Return best scores standardised by those of the calibration rows."""
        return (best.astype(np.float64) - self.centre) / self.spread

    def to_json(self) -> dict[str, Any]:
        """Return the summary of the calibration that ``train`` prints."""
        return {
            "rows": self.n_rows,
            "source": self.source,
            "temperature": self.temperature,
            "slope": self.slope,
            "bonus": self.bonus,
            "gain": self.gain,
        }


def calibrate(held: HeldScores, source: str, *, miss_ratio: float = 1.0) -> Calibration | None:
    """Return the calibration with the least log loss on held-out rows.

    None if they are too few, or if a row has lost all of its best classes.

    Parameters
    ----------
    source, miss_ratio : see `Calibration`.
    """
    held = keep_finite(held)
    if len(held) < LEAST_ROWS or held.scores.shape[1] == 0:
        return None
    held = held.select(generator(0, "calibration order").permutation(len(held)))
    # No score is above the best one. An empty group may have any number: its exponential, times a
    # count of 0, would not be finite. Nor would that of a damaged file.
    tops = held.scores[:, :1]
    rest = np.where(held.rest_counts > 0, np.minimum(held.rest_scores, tops), tops)
    held = replace(held, rest_scores=rest, true=np.minimum(held.true, tops[:, 0]))
    best = held.scores[:, 0].astype(np.float64)
    centre, spread = float(best.mean()), float(best.std()) or 1.0
    deviations = np.clip((best - centre) / spread, -MOST_EXPONENT, MOST_EXPONENT)
    log_scale, slope, bonus, gain = fit(held, deviations)
    scales = find_scales(log_scale, slope, deviations)
    bonuses = bonus + gain * find_held_margins(held, scales)
    sums = sum_log(held, scales, bonuses)
    probabilities = np.exp(scales[:, None] * held.scores - sums[:, None])
    probabilities[:, 0] *= np.exp(bonuses)
    ranks, above = rank_true(held, scales, sums, probabilities)
    return Calibration(
        math.exp(log_scale),
        slope,
        centre,
        spread,
        bonus,
        source,
        held.labels,
        ranks.astype(np.int32),
        probabilities[:, 0].astype(np.float32),
        sum_squares(held, scales, sums, probabilities).astype(np.float32),
        np.exp(scales * held.true - sums + bonuses * (ranks == 1)).astype(np.float32),
        above.astype(np.float32),
        probabilities[: min(MOST_TUNING, len(held) // 5)].astype(np.float32),
        gain=gain,
        miss_ratio=miss_ratio,
    )


def find_scales(
    log_scale: float, slope: float, deviations: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the inverse temperatures of rows; beyond `MOST_EXPONENT` they do not change."""
    return np.exp(log_scale + slope * np.clip(deviations, -MOST_EXPONENT, MOST_EXPONENT))


def find_margins(best: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the differences between the best two logits of rows, at most `MOST_MARGIN`."""
    return np.minimum(best.astype(np.float64) - second, MOST_MARGIN)


def find_held_margins(held: HeldScores, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margins of held-out rows; 0 if there is one class only."""
    second = held.scores[:, min(1, held.scores.shape[1] - 1)]
    return find_margins(scales * held.scores[:, 0], scales * second)


def find_second(held: HeldScores) -> NDArray[Any]:
    """Return the second best score of rows, of a group of classes if a row keeps one class only."""
    if held.scores.shape[1] > 1:
        second: NDArray[Any] = held.scores[:, 1]
        return second
    groups = np.where(held.rest_counts > 0, held.rest_scores, -np.inf)
    best = groups.max(axis=1, initial=-np.inf)
    return np.where(np.isfinite(best), best, held.scores[:, 0])


def fit(held: HeldScores, deviations: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Return the logarithm of the scale, its slope, bonus and gain with the least log loss."""
    n, start = len(held), guess_scale(held)
    true, right = smooth_truth(held)

    def objective(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_scale, slope, bonus, gain = parameters
        scales = find_scales(log_scale, slope, deviations)
        margins = find_held_margins(held, scales)
        bonuses = bonus + gain * margins
        sums, means, tops = sum_log(held, scales, bonuses, with_means=True)
        losses = sums - scales * true - bonuses * right
        by_bonus = tops - right
        by_scale = (means - true) * scales  # of the logarithm of the scale
        by_scale += by_bonus * gain * np.where(margins < MOST_MARGIN, margins, 0.0)
        gradient = [by_scale.sum(), by_scale @ deviations, by_bonus.sum(), by_bonus @ margins]
        penalised = np.array([0.0, slope, bonus, gain])
        value = losses.sum() + PENALTY * (penalised @ penalised)
        return value / n, (np.array(gradient) + 2.0 * PENALTY * penalised) / n

    from scipy.optimize import minimize  # which takes longer than to classify an image

    # With two classes the probability must rise with the difference of the scores alone.
    several = 1.0 if held.classes.shape[1] > 2 else 0.0
    bounds = [(start - RANGE, start + RANGE), (-several, several), (0.0, 5 * several), (0, several)]
    found = minimize(objective, [start, 0, 0, 0], jac=True, method="L-BFGS-B", bounds=bounds)
    log_scale, slope, bonus, gain = found.x.tolist()
    return log_scale, slope, bonus, gain


def fit_scale(held: HeldScores) -> tuple[float, float]:
    """Return the logarithm of the scale with the least mean log loss, and that loss.

    Without slope, bonus and gain. Both are 0 if no row has finite scores.
    """
    from scipy.optimize import minimize_scalar  # as above

    held = keep_finite(held)
    if len(held) == 0:
        return 0.0, 0.0
    start = guess_scale(held)
    (true, _), none = smooth_truth(held), np.zeros(len(held))

    def objective(log_scale: float) -> float:
        scales = np.full(len(held), math.exp(log_scale))
        return float((sum_log(held, scales, none) - scales * true).mean())

    found = minimize_scalar(
        objective, bounds=(start - RANGE, start + RANGE), method="bounded", options={"xatol": 1e-4}
    )
    return float(found.x), float(found.fun)


def keep_finite(held: HeldScores) -> HeldScores:
    """Return the rows whose scores are finite numbers."""
    return held.select(np.isfinite(held.scores).all(axis=1) & np.isfinite(held.true))


def guess_scale(held: HeldScores) -> float:
    """Return the logarithm of a scale that is a good start.

    It makes the usual distance of the best class from the worst one kept about 10.
    """
    distance = float(np.median(held.scores[:, :1] - held.scores[:, -1:]))
    return math.log(10.0 / distance) if distance > 0 else 0.0


def smooth_truth(held: HeldScores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores of the true classes, and how far the best classes are the true ones.

    They are taken as if one more row had the label of its best wrong class: if all held-out rows
    were classified correctly, the temperature with the least log loss would be 0.
    """
    correct, share = held.classes[:, 0] == held.labels, 1.0 / (len(held) + 2)
    wrong = np.where(correct, find_second(held), held.scores[:, 0])
    true = (1.0 - share) * held.true + share * wrong
    return true, np.where(correct, 1.0 - share, share)


def sum_log(
    held: HeldScores,
    scales: NDArray[np.float64],
    bonuses: NDArray[np.float64],
    *,
    with_means: bool = False,
) -> Any:
    """Return the logarithms of the sums of the exponentials of all scores, scaled.

    Parameters
    ----------
    bonuses : float64 array of shape (n_rows,), added to the best logits.
    with_means : whether the mean score of each row under its probabilities, and the probability of
        its best class, are returned as well.
    """
    tops = held.scores[:, 0].astype(np.float64)
    best = np.exp(scales[:, None] * (held.scores - tops[:, None]))
    best[:, 0] *= np.exp(bonuses)
    others = held.rest_counts * np.exp(scales[:, None] * (held.rest_scores - tops[:, None]))
    totals = best.sum(axis=1) + others.sum(axis=1)
    sums = scales * tops + np.log(totals)
    if not with_means:
        return sums
    weighted = (best * held.scores).sum(axis=1) + (others * held.rest_scores).sum(axis=1)
    return sums, weighted / totals, best[:, 0] / totals


def sum_squares(
    held: HeldScores,
    scales: NDArray[np.float64],
    sums: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the sum of the squared probabilities of all classes of each row."""
    others = held.rest_counts * np.exp(2.0 * (scales[:, None] * held.rest_scores - sums[:, None]))
    found: NDArray[np.float64] = np.square(probabilities).sum(axis=1) + others.sum(axis=1)
    return found


def rank_true(
    held: HeldScores,
    scales: NDArray[np.float64],
    sums: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rank of the true class and the sum of the probabilities above it.

    For a class that is not among those kept, both follow from the groups of the others.
    """
    hits = held.classes == held.labels[:, None]
    found = hits.any(axis=1)
    k = held.classes.shape[1]
    positions = np.where(found, hits.argmax(axis=1), k)
    before = np.arange(k) < positions[:, None]
    better = held.rest_scores > held.true[:, None]
    beyond = np.where(found[:, None], 0.0, better * held.rest_counts)
    others = np.exp(scales[:, None] * held.rest_scores - sums[:, None])
    ranks = positions + 1 + beyond.sum(axis=1)
    above = (probabilities * before).sum(axis=1) + (beyond * others).sum(axis=1)
    return ranks.astype(np.int64), np.minimum(above, 1.0)
