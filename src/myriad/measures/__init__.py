"""Accuracies at k and confusions, from the rank of the truth of each row."""

from myriad.measures.accuracy import Measures, measure, ranks_of_truth
from myriad.measures.confusion import Confusion, count_confusions

__all__ = ["Confusion", "Measures", "count_confusions", "measure", "ranks_of_truth"]
