"""One epoch of coordinate descent: every feature of every class has its weight changed once."""

from __future__ import annotations

from myriad._jit import inlined, jit
from myriad.objectives.binary import smooth_curvature, smooth_step, smooth_value

ENOUGH = 0.01
"""Minimum decrease of the objective by a step, as a fraction of step times gradient (Armijo)."""


@inlined
def find_decrease(loss, x, signs, scores, change):
    """Return by how much the summed loss falls if a weight changes."""
    total = 0.0
    for i in range(len(x)):
        before = smooth_value(loss, signs[i], scores[i])
        total += before - smooth_value(loss, signs[i], scores[i] + change * x[i])
    return total


@inlined
def step_feature(loss, x, signs, scores, weight, lam, bound):
    """Return the change of one weight, along which the objective falls.

    It is Newton's step where that makes the objective fall enough, as it mostly does, else the step
    ``-g / bound``: the objective lies below the parabola with this curvature, whose minimum it is
    (Chang, Hsieh and Lin 2008, with the bound instead of a line search).

    Parameters
    ----------
    x : float array of shape (n_rows,), the feature.
    signs, scores : float64 arrays of shape (n_rows,), of one class.
    weight : of the feature.
    lam : regularisation strength.
    bound : upper bound of the second derivative.
    """
    n = len(x)
    slope, curvature = 0.0, 0.0
    for i in range(n):
        slope -= smooth_step(loss, signs[i], scores[i]) * x[i]
        curvature += smooth_curvature(loss, signs[i], scores[i]) * x[i] * x[i]
    slope, curvature = slope / n + lam * weight, curvature / n + lam
    if slope == 0.0:
        return 0.0
    change = -slope / curvature
    # f(w + d) - f(w) <= g d + bound d^2 / 2: where this is small enough, nothing has to be summed.
    if slope * change + 0.5 * bound * change * change > ENOUGH * slope * change:
        fallen = find_decrease(loss, x, signs, scores, change) / n
        fallen -= 0.5 * lam * change * (2.0 * weight + change)
        if fallen < -ENOUGH * slope * change:
            change = -slope / bound
    return change


@jit
def descend(X, order, bounds, loss, lam, signs, W, scores):
    """Change all weights of some classes, one feature after the other.

    Parameters
    ----------
    X : float array of shape (n_features, n_rows), a feature per row.
    order : int64 array of shape (n_features,), the order of the features.
    bounds : float64 array of shape (n_features,), upper bounds of the second derivatives.
    loss : number of the loss, see `SMOOTH_LOSSES`.
    lam : regularisation strength.
    signs : int8 array of shape (n_classes, n_rows), 1 for the rows of a class and -1 for others.
    W : float64 array of shape (n_classes, n_features); changed in place.
    scores : float64 array of shape (n_classes, n_rows); changed in place.
    """
    for c in range(len(W)):
        for j in order:
            change = step_feature(loss, X[j], signs[c], scores[c], W[c, j], lam, bounds[j])
            if change != 0.0:
                W[c, j] += change
                for i in range(X.shape[1]):
                    scores[c, i] += change * X[j, i]


@jit
def sum_losses(signs, scores, loss, values, steps):
    """Add up the losses of each class, and write minus their derivatives.

    Parameters
    ----------
    signs, scores, loss : see `descend`.
    values : float64 array of shape (n_classes,); added to in place.
    steps : float64 array of shape (n_rows, n_classes); written.
    """
    for c in range(len(scores)):
        for i in range(scores.shape[1]):
            values[c] += smooth_value(loss, signs[c, i], scores[c, i])
            steps[i, c] = smooth_step(loss, signs[c, i], scores[c, i])
