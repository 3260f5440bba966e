"""Measures of ranked rows: accuracy at k, average precision, confusions."""

from myriad.measures.accuracy import (
    Measures,
    Truths,
    measure,
    rank_all_labels,
    rank_truths,
    ranks_of_truth,
    select_truths,
)
from myriad.measures.answers import (
    list_labels,
    measure_labels,
    measure_levels,
    measure_rejection,
    measure_sets,
)
from myriad.measures.calibration import CalibrationMeasures, measure_calibration
from myriad.measures.confusion import (
    Confusion,
    class_confusion,
    count_confusions,
    sibling_precision,
)
from myriad.measures.label_sets import LabelSets
from myriad.measures.precision import ClassPrecisions, average_precisions

__all__ = [
    "CalibrationMeasures",
    "ClassPrecisions",
    "Confusion",
    "LabelSets",
    "Measures",
    "Truths",
    "average_precisions",
    "class_confusion",
    "count_confusions",
    "list_labels",
    "measure",
    "measure_calibration",
    "measure_labels",
    "measure_levels",
    "measure_rejection",
    "measure_sets",
    "rank_all_labels",
    "rank_truths",
    "ranks_of_truth",
    "select_truths",
    "sibling_precision",
]
