"""The block engine and what drives it."""

from functools import partial

from myriad.training.fitting import OBJECTIVES, fit, hold_out
from myriad.training.joint import WarpOptions
from myriad.training.plan import BETA_WORDS, ETA_WORDS, Fitted, Plan, parse_setting
from myriad.training.steps import Schedule

TRAINERS = {objective: partial(fit, objective=objective) for objective in OBJECTIVES}
"""What trains each objective: from rows, validation rows and a plan to weights."""

__all__ = [
    "BETA_WORDS",
    "ETA_WORDS",
    "OBJECTIVES",
    "TRAINERS",
    "Fitted",
    "Plan",
    "Schedule",
    "WarpOptions",
    "fit",
    "hold_out",
    "parse_setting",
]
