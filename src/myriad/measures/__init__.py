"""Measures of ranked rows: accuracy at k, average precision, confusions."""

from myriad.measures.accuracy import Measures, Truths, measure, rank_truths, ranks_of_truth
from myriad.measures.confusion import (
    Confusion,
    class_confusion,
    count_confusions,
    number_parents,
    sibling_precision,
)
from myriad.measures.label_sets import LabelSets
from myriad.measures.precision import average_precisions

__all__ = [
    "Confusion",
    "LabelSets",
    "Measures",
    "Truths",
    "average_precisions",
    "class_confusion",
    "count_confusions",
    "measure",
    "number_parents",
    "rank_truths",
    "ranks_of_truth",
    "sibling_precision",
]
