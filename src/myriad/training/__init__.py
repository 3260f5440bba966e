"""Training methods: each turns rows into a model."""

from typing import TYPE_CHECKING

from myriad.lazy import import_on_use
from myriad.training.automatic.method import Automatic
from myriad.training.baselines.nearest_means import Means
from myriad.training.baselines.nearest_neighbours import NeighboursMethod
from myriad.training.context import Context
from myriad.training.discriminant.method import Discriminant
from myriad.training.dual.method import CertifiedFit
from myriad.training.dual.svms import BinaryDual, TopK
from myriad.training.embedding.method import EmbeddingOptions, WsabieMethod
from myriad.training.method import Fitted, Method, make_method
from myriad.training.optimiser import OptimiserOptions, Schedule
from myriad.training.pairs.method import Recall, TopPush
from myriad.training.primal.method import Primal
from myriad.training.sgd.method import OBJECTIVES, SGD, WarpOptions
from myriad.training.trace.method import AtomDescent

if TYPE_CHECKING:
    from myriad.training.baselines.class_sums import ClassSums
    from myriad.training.checkpoints import Checkpoint
    from myriad.training.dual.spaces import check_gram
    from myriad.training.sgd.incremental import IncrementalTraining
    from myriad.training.validation import hold_out

METHODS: dict[str, type[Method]] = {
    "auto": Automatic,
    **dict.fromkeys(OBJECTIVES, SGD),
    "topk": TopK,
    "dual": BinaryDual,
    "primal": Primal,
    "toppush": TopPush,
    "recall": Recall,
    "wsabie": WsabieMethod,
    "plda": Discriminant,
    "means": Means,
    "trace": AtomDescent,
    "knn": NeighboursMethod,
}
"""The methods by the name of their objective: a new one is one line here."""

__all__ = [
    "METHODS",
    "SGD",
    "AtomDescent",
    "Automatic",
    "BinaryDual",
    "CertifiedFit",
    "Checkpoint",
    "ClassSums",
    "Context",
    "Discriminant",
    "EmbeddingOptions",
    "Fitted",
    "IncrementalTraining",
    "Means",
    "Method",
    "NeighboursMethod",
    "OptimiserOptions",
    "Primal",
    "Recall",
    "Schedule",
    "TopK",
    "TopPush",
    "WarpOptions",
    "WsabieMethod",
    "check_gram",
    "hold_out",
    "make_method",
]

__getattr__ = import_on_use(
    __name__,
    {
        "Checkpoint": "myriad.training.checkpoints",
        "ClassSums": "myriad.training.baselines.class_sums",
        "IncrementalTraining": "myriad.training.sgd.incremental",
        "check_gram": "myriad.training.dual.spaces",
        "hold_out": "myriad.training.validation",
    },
)
