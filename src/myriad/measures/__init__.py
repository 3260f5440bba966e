"""Accuracies at k, average precision and confusions, from the ranks and scores of rows."""

from myriad.measures.accuracy import Measures, measure, ranks_of_truth
from myriad.measures.confusion import Confusion, count_confusions
from myriad.measures.label_sets import LabelSets

__all__ = ["Confusion", "LabelSets", "Measures", "count_confusions", "measure", "ranks_of_truth"]
