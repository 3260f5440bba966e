"""Plots as inline SVG, one family per file.

SVG rather than pictures from matplotlib: it is sharp at any size, takes a few kilobytes and its
colours from the page (light, dark, print), and has tooltips. A plot names classes of the page's
style sheet (``series-1``, ``grid``, ...) and never a colour. ``data-tip`` attributes are tooltips,
an ``aria-label`` describes the whole plot.
"""

from myriad.report.plots.classes import (
    plot_by_training,
    plot_class_map,
    plot_histogram,
)
from myriad.report.plots.codes import plot_information, plot_ratios, plot_shares, plot_times
from myriad.report.plots.curves import plot_accuracy_at, plot_gaps, plot_history
from myriad.report.plots.lines import (
    plot_densities,
    plot_kept_variance,
    plot_variances,
    plot_weights,
)
from myriad.report.plots.patches import draw_colours, draw_gradients
from myriad.report.plots.reliability import plot_reliability, plot_risk
from myriad.report.plots.studies import (
    Entry,
    Series,
    plot_costs,
    plot_epochs,
    plot_guesses,
    plot_ranking,
    plot_ranks,
    plot_trials,
    plot_values,
)

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
    "plot_epochs",
    "plot_gaps",
    "plot_guesses",
    "plot_histogram",
    "plot_history",
    "plot_information",
    "plot_kept_variance",
    "plot_ranking",
    "plot_ranks",
    "plot_ratios",
    "plot_reliability",
    "plot_risk",
    "plot_shares",
    "plot_times",
    "plot_trials",
    "plot_values",
    "plot_variances",
    "plot_weights",
]
