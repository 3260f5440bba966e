"""The block engine and what drives it: methods that turn rows into models."""

from myriad.training.checkpoints import Checkpoint
from myriad.training.conditioning import Conditioning
from myriad.training.fitting import hold_out
from myriad.training.joint import WarpOptions
from myriad.training.methods import Fitted, Method, Offer, make_method, number_or, one_of
from myriad.training.sessions import Session
from myriad.training.sgd import SGD, SGD_OFFERS
from myriad.training.steps import Schedule

OFFERS: dict[str, Offer] = {**SGD_OFFERS}
"""The methods by the name of their objective: a new one is one line here."""

__all__ = [
    "OFFERS",
    "SGD",
    "Checkpoint",
    "Conditioning",
    "Fitted",
    "Method",
    "Offer",
    "Schedule",
    "Session",
    "WarpOptions",
    "hold_out",
    "make_method",
    "number_or",
    "one_of",
]
