"""Accuracies at k, average precision and confusions, from the ranks and scores of rows."""

from myriad.measures.accuracy import Measures, Truths, measure, rank_truths, ranks_of_truth
from myriad.measures.confusion import Confusion, count_confusions
from myriad.measures.label_sets import LabelSets
from myriad.measures.precision import average_precisions

__all__ = [
    "Confusion",
    "LabelSets",
    "Measures",
    "Truths",
    "average_precisions",
    "count_confusions",
    "measure",
    "rank_truths",
    "ranks_of_truth",
]
