"""The learning rate of a step in a kernel, by the schedules of `training.schedules`."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.training.schedules import BY_LAM, DECAYING


@inlined
def step_size(schedule, eta, lam, t, t0):
    """Return the learning rate of step number `t`, counted from 0."""
    if schedule == BY_LAM:
        return 1.0 / (lam * (t + t0))
    if schedule == DECAYING:
        return eta * t0 / (t + t0)
    return eta
