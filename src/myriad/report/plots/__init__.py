"""Plots as inline SVG, one family a file.

SVG written by hand rather than pictures from matplotlib: it is crisp at any size, a few kilobytes,
takes its colours from the page (light, dark, print) and can answer the pointer. A plot names
classes of the page's style sheet (``series-1``, ``grid``, ...) and never a colour. What lies under
the pointer is told by ``data-tip`` attributes, the whole plot by an ``aria-label``.
"""

from myriad.report.plots.class_map import plot_class_map
from myriad.report.plots.codes import plot_information, plot_ratios, plot_shares, plot_times
from myriad.report.plots.curves import plot_accuracy_at, plot_history
from myriad.report.plots.gaps import plot_gaps
from myriad.report.plots.histogram import plot_histogram
from myriad.report.plots.lines import (
    plot_densities,
    plot_kept_variance,
    plot_variances,
    plot_weights,
)
from myriad.report.plots.patches import draw_colours, draw_gradients
from myriad.report.plots.ranking import Entry, plot_costs, plot_ranking
from myriad.report.plots.ranks import plot_ranks
from myriad.report.plots.scatter import plot_by_training, plot_trials
from myriad.report.plots.series import Series, plot_guesses, plot_passes, plot_values

__all__ = [
    "Entry",
    "Series",
    "draw_colours",
    "draw_gradients",
    "plot_accuracy_at",
    "plot_by_training",
    "plot_class_map",
    "plot_costs",
    "plot_densities",
    "plot_gaps",
    "plot_guesses",
    "plot_histogram",
    "plot_history",
    "plot_information",
    "plot_kept_variance",
    "plot_passes",
    "plot_ranking",
    "plot_ranks",
    "plot_ratios",
    "plot_shares",
    "plot_times",
    "plot_trials",
    "plot_values",
    "plot_variances",
    "plot_weights",
]
