"""Options of the optimiser: schedules, AdaGrad, averaging and bounds of norms [GP; LS; HM, 7].

All schedules of the learning rate begin at ``eta``, which is searched for by validation accuracy.
Bottou's search for ``t0`` is the same search: ``1 / (lam (t + t0))`` begins at ``eta`` where
``t0 = 1 / (lam eta)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from myriad.errors import InputError
from myriad.options import check_options, option
from myriad.training.method import SGD_PANEL
from myriad.training.settings import Setting

SCHEDULES = {"fixed": "", "lam": "as 1 / (lam t)", "decay": "as 1 / t"}
"""The schedules, in the order of their numbers, and how the learning rate shrinks."""

CONSTANT, BY_LAM, DECAYING = range(len(SCHEDULES))
"""The numbers by which kernels know the schedules; see `engine.steps`."""


@dataclass(frozen=True)
class Schedule:
    """Learning rate schedule.

    Attributes
    ----------
    name : ``fixed``: eta. ``lam``: 1 / (lam (t + t0)) with t0 = 1 / (lam eta). ``decay``:
        eta t0 / (t + t0).
    t0 : steps after which ``decay`` has halved the learning rate; None to search for it together
        with eta.
    """

    name: str = option(
        "fixed",
        name="schedule",
        choices=SCHEDULES,
        panel=SGD_PANEL,
        help="Learning rate schedule.",
    )
    t0: float | None = option(
        1000.0,
        above=0,
        words={"auto": None},
        needs=("schedule", "decay"),
        panel=SGD_PANEL,
        help="Steps after which --schedule decay has halved the learning rate, or auto.",
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def number(self) -> int:
        """The number of the schedule in kernels."""
        return list(SCHEDULES).index(self.name)

    @property
    def is_open(self) -> bool:
        """Whether t0 is left to be searched for."""
        return self.name == "decay" and self.t0 is None

    def delay(self, setting: Setting) -> float:
        """Return the t0 of a setting."""
        if self.name != "lam":
            return self.t0 or setting.t0 or 1.0
        if setting.lam <= 0:
            raise InputError("The schedule lam needs a lam above 0.")
        return 1.0 / (setting.lam * setting.eta)


FIXED = Schedule()


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
    init : what weights begin at: zero, or uniform within the bound of norms [HM, 8.3].
    """

    adagrad: str = option(
        "none",
        choices=("none", "class", "feature"),
        panel=SGD_PANEL,
        help="AdaGrad: learning rates scaled by accumulated gradients.",
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
    init: str = option(
        "zero",
        choices={"zero": "", "ball": "uniform within --max-norm"},
        panel=SGD_PANEL,
        help="Initial weights.",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.init == "ball" and math.isinf(self.max_norm):
            raise InputError("init ball needs a max_norm, the radius of the ball.")
        if self.max_norm < math.inf and (self.average or self.adagrad == "feature"):
            raise InputError("max_norm cannot be combined with average or with adagrad by feature.")


PLAIN_SGD = OptimiserOptions()


def begins_window(epoch: int) -> bool:
    """Return whether averages start again before an epoch: before 0, 1, 2, 4, 8, ..."""
    return epoch & (epoch - 1) == 0
