"""Trained models: scores, top-k ranking in bounded memory, and model folders."""

from myriad.models.coded import CodedModel, make_plain, match_rows
from myriad.models.embedding import EmbeddingModel
from myriad.models.factored import ChosenModel, FactoredModel, LatentModel
from myriad.models.folder import (
    ModelFolder,
    is_model,
    load_held_scores,
    load_model,
    read_source,
    save_model,
)
from myriad.models.held_scores import HeldScores
from myriad.models.linear import LinearModel
from myriad.models.model import Model
from myriad.models.neighbours import NeighboursModel

__all__ = [
    "ChosenModel",
    "CodedModel",
    "EmbeddingModel",
    "FactoredModel",
    "HeldScores",
    "LatentModel",
    "LinearModel",
    "Model",
    "ModelFolder",
    "NeighboursModel",
    "is_model",
    "load_held_scores",
    "load_model",
    "make_plain",
    "match_rows",
    "read_source",
    "save_model",
]
