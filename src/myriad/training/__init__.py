"""The block engine and what drives it: methods that turn rows into models."""

from myriad.training.baselines.nearest_means import MEANS_METHOD, ClassSums, Means
from myriad.training.baselines.nearest_neighbours import KNN_METHOD
from myriad.training.checkpoints import Checkpoint
from myriad.training.dual.method import Certified
from myriad.training.dual.spaces import check_gram
from myriad.training.dual.svms import DUAL_METHODS, BinaryDual, TopK
from myriad.training.embedding.method import WSABIE_METHODS, WsabieMethod
from myriad.training.embedding.trainer import EmbeddingOptions
from myriad.training.engine.optimiser_options import OptimiserOptions
from myriad.training.method import (
    Fitted,
    Method,
    MethodSpec,
    make_method,
    number_or,
    one_of,
    whole_number,
)
from myriad.training.schedules import Schedule
from myriad.training.sgd.fitting import hold_out
from myriad.training.sgd.incremental import IncrementalTraining
from myriad.training.sgd.joint import WarpOptions
from myriad.training.sgd.method import SGD, SGD_METHODS
from myriad.training.trace.method import TRACE_METHOD, AtomDescent

METHODS: dict[str, MethodSpec] = {
    **SGD_METHODS,
    **DUAL_METHODS,
    **WSABIE_METHODS,
    "means": MEANS_METHOD,
    "trace": TRACE_METHOD,
    "knn": KNN_METHOD,
}
"""The methods by the name of their objective: a new one is one line here."""

__all__ = [
    "METHODS",
    "SGD",
    "AtomDescent",
    "BinaryDual",
    "Certified",
    "Checkpoint",
    "ClassSums",
    "EmbeddingOptions",
    "Fitted",
    "IncrementalTraining",
    "Means",
    "Method",
    "MethodSpec",
    "OptimiserOptions",
    "Schedule",
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
