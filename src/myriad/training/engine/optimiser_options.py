"""Means against features and classes of unlike scales: adagrad, averages, bounds [GP; HM, 7]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from myriad.errors import InputError

ADAGRADS = ("none", "class", "feature")


@dataclass(frozen=True)
class OptimiserOptions:
    """How steps and weights are tamed.

    Attributes
    ----------
    adagrad : ``class``: the steps of a class shrink by the root of its mean squared gradient
        entries so far [HM, 7]; ``feature``: those of a feature by the root of its squared gradient
        entries, renewed from chunk to chunk of rows; or ``none``.
    average : take the mean of the weights over the latest steps, at least half of them [Polyak].
    max_norm : the most that the norm of a class's weights may be [HM].
    """

    adagrad: str = "none"
    average: bool = False
    max_norm: float = math.inf

    def __post_init__(self) -> None:
        if self.adagrad not in ADAGRADS:
            raise InputError(f"adagrad must be one of {', '.join(ADAGRADS)}, not {self.adagrad!r}.")
        if not self.max_norm > 0:
            raise InputError(f"max_norm must be positive, not {self.max_norm!r}.")
        if self.max_norm < math.inf and (self.average or self.adagrad == "feature"):
            raise InputError("max_norm goes neither with average nor with adagrad by feature.")


PLAIN_SGD = OptimiserOptions()


def begins_window(epoch: int) -> bool:
    """Tell whether averages begin anew before an epoch: before 0, 1, 2, 4, 8, ..."""
    return epoch & (epoch - 1) == 0
