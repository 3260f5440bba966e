"""Schedules of the learning rate: the three of [GP, 4.2] and [LS].

All begin at ``eta``, which is searched for by validation accuracy. Bottou's search for ``t0`` is
the same search: ``1 / (lam (t + t0))`` begins at ``eta`` where ``t0 = 1 / (lam eta)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from myriad.errors import InputError
from myriad.options import check_options, option
from myriad.training.method import SGD_PANEL
from myriad.training.settings import Setting

CONSTANT, BY_LAM, DECAYING = 0, 1, 2

NUMBERS = {"fixed": CONSTANT, "lam": BY_LAM, "decay": DECAYING}
"""The number by which a kernel knows each schedule; see `engine.step_size`."""


@dataclass(frozen=True)
class Schedule:
    """How the learning rate shrinks.

    Attributes
    ----------
    name : ``fixed``: eta. ``lam``: 1 / (lam (t + t0)) with t0 = 1 / (lam eta). ``decay``:
        eta t0 / (t + t0).
    t0 : steps after which ``decay`` has halved the learning rate.
    """

    name: str = option(
        "fixed",
        name="schedule",
        choices={"fixed": "", "lam": "as 1 / (lam t)", "decay": "as 1 / t"},
        panel=SGD_PANEL,
        help="How the learning rate shrinks.",
    )
    t0: float = option(
        1000.0,
        above=0,
        needs=("schedule", "decay"),
        panel=SGD_PANEL,
        help="Steps after which --schedule decay has halved the learning rate.",
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def number(self) -> int:
        """The number of the schedule in kernels."""
        return NUMBERS[self.name]

    def delay(self, setting: Setting) -> float:
        """Return the t0 of a setting."""
        if self.name != "lam":
            return self.t0
        if setting.lam <= 0:
            raise InputError("The schedule lam needs a lam above 0.")
        return 1.0 / (setting.lam * setting.eta)


FIXED = Schedule()
