"""Trained models: scores, top-k ranking in bounded memory, and model folders."""

from myriad.models.calibration.classes import Calibration, calibrate
from myriad.models.calibration.held_scores import HeldScores
from myriad.models.calibration.labels import Assignment, LabelCalibration, calibrate_labels
from myriad.models.calibration.rejection import Rejection
from myriad.models.class_pictures import ClassPictures, load_pictures
from myriad.models.class_weights import split_labels, weigh_classes
from myriad.models.coded import CodedModel, make_plain, match_rows
from myriad.models.decisions.decider import Decider, Decisions
from myriad.models.decisions.evaluation import RowResults, evaluate_decisions, join_results
from myriad.models.decisions.hierarchy import Hierarchy
from myriad.models.embedding import EmbeddingModel
from myriad.models.explanations import Explanation, explain_image
from myriad.models.factored import ChosenModel, FactoredModel, LatentModel
from myriad.models.folder import (
    ModelFolder,
    is_model,
    load_held_scores,
    load_model,
    read_source,
    save_model,
)
from myriad.models.linear import LinearModel
from myriad.models.merged import MergedModel
from myriad.models.model import Model
from myriad.models.neighbours import NeighboursModel
from myriad.models.rounded import RoundedModel, round_model

__all__ = [
    "Assignment",
    "Calibration",
    "ChosenModel",
    "ClassPictures",
    "CodedModel",
    "Decider",
    "Decisions",
    "EmbeddingModel",
    "Explanation",
    "FactoredModel",
    "HeldScores",
    "Hierarchy",
    "LabelCalibration",
    "LatentModel",
    "LinearModel",
    "MergedModel",
    "Model",
    "ModelFolder",
    "NeighboursModel",
    "Rejection",
    "RoundedModel",
    "RowResults",
    "calibrate",
    "calibrate_labels",
    "evaluate_decisions",
    "explain_image",
    "is_model",
    "join_results",
    "load_held_scores",
    "load_model",
    "load_pictures",
    "make_plain",
    "match_rows",
    "read_source",
    "round_model",
    "save_model",
    "split_labels",
    "weigh_classes",
]
