"""The two top-k hinge losses and their conjugates  [TK, 2.2 and 2.3].

With ``h_c = 1 + s_c - s_y`` of the **wrong** classes only: ``alpha`` is the mean of the k largest
h, clipped at zero; ``beta`` the mean of the k largest h, each clipped at zero. alpha <= beta <= the
loss of k = 1, which is that of Crammer and Singer.

A row's dual variables x, one a wrong class, are at least 0. Both conjugates are ``-1'x`` inside
their domain, the top-k simplex of the loss (see `projections`), and infinite outside.
"""

from __future__ import annotations

import math

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives import TOPK_VARIANTS
from myriad.objectives.largest import select_largest

ALPHA, BETA = TOPK_VARIANTS["alpha"], TOPK_VARIANTS["beta"]


@jit
def value(scores, label, k, variant):
    """Return the loss of a row's scores, float array of shape (n_classes,); 1 <= k < n_classes.

    The score of the label is set to minus infinity meanwhile: the sum is over wrong classes only.
    With the label inside it, as [TK] prints it, the duality gap does not close for k > 1.
    """
    truth = scores[label]
    scores[label] = -np.inf
    top = select_largest(scores, k)
    scores[label] = truth
    total = 0.0
    for j in range(k):
        h = 1.0 + top[j] - truth
        total += max(0.0, h) if variant == BETA else h
    return max(0.0, total / k)


@jit
def sum_values(S, labels, k, variant):
    """Return the sum of the losses of rows of scores, float of shape (n_samples, n_classes)."""
    total = 0.0
    for i in range(len(labels)):
        total += value(S[i], labels[i], k, variant)
    return total


@inlined
def conjugate(x, k, variant, r):
    """Return the conjugate, times the domain's radius `r`, at a row's dual variables.

    Variables that leave the domain by rounding alone count as inside.

    Parameters
    ----------
    x : float64 array of any shape (m,), the nonzero variables of a row.
    """
    total = largest = 0.0
    least = math.inf
    for j in range(len(x)):
        total += x[j]
        largest = max(largest, x[j])
        least = min(least, x[j])
    upper = total / k if variant == ALPHA else r / k
    slack = 1e-9 * r
    if least < -slack or largest > upper + slack or total > r + slack:
        return math.inf
    return -total
