"""The block engine and what drives it."""

from myriad.training.fitting import fit_one_vs_rest, hold_out
from myriad.training.plan import Fitted, Plan, parse_setting

TRAINERS = {"ovr": fit_one_vs_rest}
"""What trains each objective: from rows, validation rows and a plan to weights."""

__all__ = ["TRAINERS", "Fitted", "Plan", "fit_one_vs_rest", "hold_out", "parse_setting"]
