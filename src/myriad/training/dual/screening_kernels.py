"""Losses in float64 from scores that are known in float32 only.

A certificate needs the losses of the weights in float64. Top-k losses depend on a row's k largest
scores only, and those of one-vs-rest are zero for all scores beyond the margin. Scores in float32,
whose rounding error is bounded, show which classes matter; the products of those few are computed
again in float64. Nothing of float32 is left in the losses.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest
from myriad.objectives.binary import dual_value
from myriad.objectives.draws import dot
from myriad.objectives.topk import value

UNIT = 2.0**-24
"""The relative error of one rounding to float32."""
SAFE = 1e37
"""Below this no product overflows; above it scores in float32 are not used."""
LEAST = 1e-18
"""Added to norms, so that the bound covers numbers too small for full precision as well."""


@jit
def sum_screened_values(X, S, labels, W, biases, size, k, variant):
    """Return the sum of the losses of rows.

    Parameters
    ----------
    X : float array of shape (m, n_features), the rows.
    S : float32 array of shape (m, n_classes), their scores in float32, biases added; those of the
        labels are overwritten.
    labels : int32 array of shape (m,)
    W, biases : float64 arrays of shapes (n_classes, n_features) and (n_classes,).
    size : the largest norm of a class's weights, its bias as one of them.
    k, variant : of the loss, which is not smoothed; see `objectives.topk`.
    """
    exact = np.empty(S.shape[1])
    total = 0.0
    for i in range(len(X)):
        label = labels[i]
        truth = dot(W[label], X[i]) + biases[label]
        error = bound_error(X[i], size)
        S[i, label] = -np.inf
        least = -np.inf
        if error < np.inf:
            # A true score is within `error` of its float32 score: where even the largest one misses
            # the margin, the loss is 0; else the k largest are among those within 2 errors of the
            # k-th.
            top = select_largest(S[i], k)
            if 1.0 + (top[0] + error) - truth <= 0.0:
                continue
            least = top[k - 1] - 2.0 * error
        n = 1
        exact[0] = truth
        for c in range(S.shape[1]):
            if c != label and not S[i, c] < least:  # NaN counts as possible
                exact[n] = dot(W[c], X[i]) + biases[c]
                n += 1
        total += value(exact[:n], 0, k, variant, 0.0)
    return total


@inlined
def bound_error(x, size):
    """Return a bound of the error of a float32 score of a row; infinite if there is none.

    Weights, bias and row are rounded once, and the sum once per term, in any order. By the
    inequality of Cauchy and Schwarz the error is at most that many rounding errors of the product
    of the norms. The constant feature, whose weight is the bias, is 1.
    """
    norm = np.sqrt(np.float64(dot(x, x)) + 1.0)
    roundings = (len(x) + 8) * UNIT
    known = norm < SAFE and size < SAFE and norm * size < SAFE  # false for NaN
    if not known or roundings > 0.1:
        return np.inf
    # The factor 1.1 covers terms of second order, and the rounding of the norm.
    return 1.1 * roundings * (norm + LEAST) * (size + LEAST)


@jit
def bound_errors(X, size):
    """Return bounds of the errors of float32 scores, float64 (m,); see `bound_error`."""
    errors = np.empty(len(X))
    for i in range(len(X)):
        errors[i] = bound_error(X[i], size)
    return errors


@inlined
def is_beyond(score, positive, error):
    """Return whether a score is beyond the margin, given a bound of its error."""
    return (score if positive else -score) - error >= 1.0  # false for NaN


@jit
def count_uncertain(S, positive, errors):
    """Return how many scores (n_classes, m) may be within the margin, given their errors.

    Parameters
    ----------
    positive : bool array of shape (n_classes, m), which rows have which classes.
    errors : float64 array of shape (m,), see `bound_errors`.
    """
    count = 0
    for c in range(len(S)):
        for i in range(len(errors)):
            count += not is_beyond(S[c, i], positive[c, i], errors[i])
    return count


@jit
def add_screened_losses(X, S, positive, errors, W, biases, sides, loss, totals):
    """Add the losses of one-vs-rest of rows to `totals` (n_classes,), in float64.

    Every loss of the dual is zero beyond the margin, see `objectives.binary`; the others are
    computed from products in float64.

    Parameters
    ----------
    X : float array of shape (m, n_features), the rows.
    S : float32 array of shape (n_classes, m), their scores in float32, biases added.
    positive, errors : see `count_uncertain`.
    W, biases : float64 arrays of shapes (n_classes, n_features) and (n_classes,).
    sides, loss : see `one_vs_rest_kernels.sum_losses`.
    """
    for c in range(len(S)):
        for i in range(len(X)):
            if is_beyond(S[c, i], positive[c, i], errors[i]):
                continue
            side = sides[c, 1] if positive[c, i] else sides[c, 0]
            z = 1.0 if positive[c, i] else -1.0
            totals[c] += side.weight * dual_value(loss, z, dot(W[c], X[i]) + biases[c])
