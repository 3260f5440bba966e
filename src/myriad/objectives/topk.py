"""The two top-k hinge losses, their smoothed forms and the conjugates  [TK, 2.2 and 2.3; LHS].

With ``h_c = 1 + s_c - s_y`` of the **wrong** classes only: ``alpha`` is the mean of the k largest
h, clipped at zero; ``beta`` the mean of the k largest h, each clipped at zero. alpha <= beta <= the
loss of k = 1, which is that of Crammer and Singer.

A row's dual variables x, one per wrong class, are at least 0. Both conjugates are ``-1'x`` inside
their domain, the top-k simplex of the loss (see `projections`), and infinite outside.

Adding ``gamma/2 |x|^2`` to the conjugate smooths the loss [LHS, Proposition 2]: it becomes the
largest ``<x, h> - gamma/2 |x|^2`` of the top-k simplex of radius 1, below the hinge by at most
``gamma / (2 k)``, and its gradient is Lipschitz with the constant ``1 / gamma``.
"""

from __future__ import annotations

import math

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest
from myriad.objectives import TOPK_VARIANTS, topk_entropy
from myriad.projections import topk_beta, topk_simplex

ALPHA, BETA, ENTROPY = (TOPK_VARIANTS[name] for name in ("alpha", "beta", "entropy"))


@jit
def value(scores, label, k, variant, gamma):
    """Return the loss of a row's scores, float array of shape (n_classes,); 1 <= k < n_classes.

    The score of the label is set to minus infinity meanwhile: the sum is over wrong classes only.
    With the label inside it, as [TK] prints it, the duality gap does not close for k > 1.

    Parameters
    ----------
    variant : number of the loss; that of `topk_entropy` is among them.
    gamma : how much a hinge loss is smoothed, 0 for not at all.
    """
    if variant == ENTROPY:
        return topk_entropy.value(scores, label, k)
    if gamma > 0.0:
        return smooth_value(gather_violations(scores, label), k, variant, gamma)
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
def gather_violations(scores, label):
    """Return ``1 + s_c - s_y`` of the wrong classes, float64."""
    h = np.empty(len(scores) - 1, np.float64)
    truth = np.float64(scores[label])
    n = 0
    for c in range(len(scores)):
        if c != label:
            h[n] = 1.0 + scores[c] - truth
            n += 1
    return h


@jit
def smooth_value(h, k, variant, gamma):
    """Return the smoothed loss of a row's violations, float64 array of at least `k` entries.

    The best x, times gamma, is the projection p of h onto the top-k simplex of radius gamma, and
    the loss ``(<p, h> - |p|^2 / 2) / gamma``.
    """
    if variant == ALPHA:
        origin, t, u = topk_simplex.find_thresholds(h, k, 0.0, gamma)
    else:
        origin, t, u = topk_beta.find_thresholds(h, k, 0.0, gamma)
    total = 0.0
    for j in range(len(h)):
        p = min(max(0.0, (h[j] - origin) - t), u)
        total += p * (h[j] - 0.5 * p)
    return total / gamma


@jit
def sum_values(S, labels, k, variant, gamma):
    """Return the sum of the losses of rows of scores, float of shape (n_samples, n_classes)."""
    total = 0.0
    for i in range(len(labels)):
        total += value(S[i], labels[i], k, variant, gamma)
    return total


@inlined
def conjugate(x, k, variant, r, gamma):
    """Return the conjugate, times the domain's radius `r`, at a row's dual variables.

    Variables that leave the domain by rounding alone count as inside.

    Parameters
    ----------
    x : float64 array of any shape (m,), the nonzero variables of a row.
    """
    if variant == ENTROPY:
        return topk_entropy.conjugate(x, k, r)
    total = largest = squares = 0.0
    least = math.inf
    for j in range(len(x)):
        total += x[j]
        squares += x[j] * x[j]
        largest = max(largest, x[j])
        least = min(least, x[j])
    upper = total / k if variant == ALPHA else r / k
    slack = 1e-9 * r
    if least < -slack or largest > upper + slack or total > r + slack:
        return math.inf
    return 0.5 * gamma / r * squares - total
