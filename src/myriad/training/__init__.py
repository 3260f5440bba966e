"""The block engine and what drives it: methods that turn rows into models."""

from myriad.training.atoms import TRACE_OFFER, AtomDescent
from myriad.training.checkpoints import Checkpoint
from myriad.training.conditioning import Conditioning
from myriad.training.dual import Certified
from myriad.training.dual_methods import DUAL_OFFERS, BinaryDual, TopK
from myriad.training.embedding import EmbeddingOptions
from myriad.training.fitting import hold_out
from myriad.training.joint import WarpOptions
from myriad.training.means import MEANS_OFFER, ClassSums, Means
from myriad.training.methods import (
    Fitted,
    Method,
    Offer,
    make_method,
    number_or,
    one_of,
    whole_number,
)
from myriad.training.neighbours import KNN_OFFER
from myriad.training.sessions import Session
from myriad.training.sgd import SGD, SGD_OFFERS
from myriad.training.spaces import check_gram
from myriad.training.steps import Schedule
from myriad.training.wsabie import WSABIE_OFFERS, WsabieMethod

OFFERS: dict[str, Offer] = {
    **SGD_OFFERS,
    **DUAL_OFFERS,
    **WSABIE_OFFERS,
    "means": MEANS_OFFER,
    "trace": TRACE_OFFER,
    "knn": KNN_OFFER,
}
"""The methods by the name of their objective: a new one is one line here."""

__all__ = [
    "OFFERS",
    "SGD",
    "AtomDescent",
    "BinaryDual",
    "Certified",
    "Checkpoint",
    "ClassSums",
    "Conditioning",
    "EmbeddingOptions",
    "Fitted",
    "Means",
    "Method",
    "Offer",
    "Schedule",
    "Session",
    "TopK",
    "WarpOptions",
    "WsabieMethod",
    "check_gram",
    "hold_out",
    "make_method",
    "number_or",
    "one_of",
    "whole_number",
]
