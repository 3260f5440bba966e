"""What was learned: scores, chunked top-k ranking, files."""

from myriad.models.coded import CodedModel, make_plain, match_rows
from myriad.models.embedding import EmbeddingModel
from myriad.models.folder import ModelFolder, is_model, load_model, save_model
from myriad.models.linear import LinearModel
from myriad.models.model import Model

__all__ = [
    "CodedModel",
    "EmbeddingModel",
    "LinearModel",
    "Model",
    "ModelFolder",
    "is_model",
    "load_model",
    "make_plain",
    "match_rows",
    "save_model",
]
