"""Projections onto convex sets, one set per file: the problem, and a kernel that solves it.

Every solution has the form ``x = min(max(0, b - t), u)``; the sets differ in the thresholds t and
u. Arrays are float32 or float64; thresholds are computed in float64.
"""

from myriad.projections.knapsack import project as project_knapsack
from myriad.projections.knapsack import project_simplex
from myriad.projections.topk_beta import project as project_topk_beta
from myriad.projections.topk_cone import project as project_topk_cone
from myriad.projections.topk_simplex import project as project_topk_simplex

__all__ = [
    "project_knapsack",
    "project_simplex",
    "project_topk_beta",
    "project_topk_cone",
    "project_topk_simplex",
]
