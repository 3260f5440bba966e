"""Options of the optimiser: AdaGrad, averaging and bounds of norms [GP; HM, 7]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from myriad.errors import InputError
from myriad.options import check_options, option
from myriad.training.method import SGD_PANEL


@dataclass(frozen=True)
class OptimiserOptions:
    """How learning rates adapt, and how weights are averaged and bounded.

    Attributes
    ----------
    adagrad : ``class``: the learning rate of a class shrinks by the root of its mean squared
        gradient entries so far [HM, 7]; ``feature``: that of a feature by the root of its squared
        gradient entries, updated from chunk to chunk of rows; or ``none``.
    average : average the weights over the latest steps, at least half of them [Polyak].
    max_norm : bound on the norm of a class's weights [HM].
    """

    adagrad: str = option(
        "none",
        choices=("none", "class", "feature"),
        panel=SGD_PANEL,
        help="AdaGrad: learning rates that shrink with the gradients so far.",
    )
    average: bool = option(
        False, panel=SGD_PANEL, help="Average the weights of the latest steps (Polyak averaging)."
    )
    max_norm: float = option(
        math.inf,
        above=0,
        words={"none": math.inf},
        panel=SGD_PANEL,
        help="Upper bound on the norm of weight vectors, or none.",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.max_norm < math.inf and (self.average or self.adagrad == "feature"):
            raise InputError("max_norm goes neither with average nor with adagrad by feature.")


PLAIN_SGD = OptimiserOptions()


def begins_window(epoch: int) -> bool:
    """Return whether averages start again before an epoch: before 0, 1, 2, 4, 8, ..."""
    return epoch & (epoch - 1) == 0
