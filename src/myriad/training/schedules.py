"""The size of a step after so many of them: the three schedules of [GP, 4.2] and [LS].

All begin at the step ``eta``, which is searched for on accuracy. Bottou's search for ``t0`` is that
same search: ``1 / (lam (t + t0))`` begins at ``eta`` where ``t0 = 1 / (lam eta)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from myriad._jit import inlined
from myriad.errors import InputError
from myriad.training.settings import Setting

CONSTANT, BY_LAM, DECAYING = 0, 1, 2

NUMBERS = {"fixed": CONSTANT, "lam": BY_LAM, "decay": DECAYING}


@dataclass(frozen=True)
class Schedule:
    """How steps shrink.

    Attributes
    ----------
    name : ``fixed``: eta. ``lam``: 1 / (lam (t + t0)) with t0 = 1 / (lam eta). ``decay``:
        eta t0 / (t + t0).
    t0 : steps after which ``decay`` has halved the step.
    """

    name: str = "fixed"
    t0: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in NUMBERS:
            raise InputError(f"schedule must be one of {sorted(NUMBERS)}, not {self.name!r}.")
        if not self.t0 > 0:
            raise InputError(f"t0 must be positive, not {self.t0!r}.")

    @property
    def number(self) -> int:
        """The number by which a kernel knows the schedule."""
        return NUMBERS[self.name]

    def delay(self, setting: Setting) -> float:
        """Return the t0 of a setting."""
        if self.name != "lam":
            return self.t0
        if setting.lam <= 0:
            raise InputError("The schedule lam needs a lam above 0.")
        return 1.0 / (setting.lam * setting.eta)


FIXED = Schedule()


@inlined
def step_size(schedule, eta, lam, t, t0):
    """Return the size of step number `t`, counted from 0."""
    if schedule == BY_LAM:
        return 1.0 / (lam * (t + t0))
    if schedule == DECAYING:
        return eta * t0 / (t + t0)
    return eta
