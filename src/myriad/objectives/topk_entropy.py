"""The top-k entropy loss and its conjugate  [LHS, 2.3]; for k = 1 the multinomial logistic loss.

With ``h_c = s_c - s_y`` of the wrong classes, the loss is the largest ``<z, h> + H(z)`` of the
top-k simplex, ``0 <= z_c <= s / k`` with ``s = 1'z <= 1``, where ``H(z) = -sum z_c log z_c - (1 -
s) log (1 - s)`` is the entropy of z and of what is left for the label. Its conjugate is -H.

Written as ``z = s p``, p is the best distribution over wrong classes none of which has more than
1 / k; it is worth ``E = max <p, h> - sum p_c log p_c``, and the loss is ``log(1 + exp(E))``. For
k = 1, E is the log-sum-exp of h. For larger k, a class that is far above the others counts only
with the share 1 / k: the loss allows k guesses.
"""

from __future__ import annotations

import math

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import select_largest
from myriad.objectives.softmax import LOWEST, exponentiate


@jit
def value(scores, label, k):
    """Return the loss of a row's scores, float array of shape (n_classes,); 1 <= k < n_classes.

    The score of the label is set to minus infinity meanwhile.
    """
    truth = scores[label]
    scores[label] = -np.inf
    top = select_largest(scores, k)
    rest = log_sum_below(scores, top)
    scores[label] = truth
    gain = find_gain(top, rest) - truth
    return gain + math.log1p(math.exp(-gain)) if gain > 0.0 else math.log1p(math.exp(gain))


@jit
def log_sum_below(scores, top):
    """Return the logarithm of the sum of ``exp(s)`` over all scores but the largest, `top`."""
    last = top[len(top) - 1]
    terms, work = np.empty((2, len(scores)), np.float64)
    equal = -len(top)  # how many scores equal to the last of the largest are not among these
    for c in range(len(scores)):
        terms[c] = LOWEST if scores[c] >= last else scores[c] - last
        equal += scores[c] >= last
    exponentiate(terms, work)
    total = float(equal)
    for c in range(len(scores)):
        total += terms[c]
    return last + math.log(total)


@jit
def find_gain(top, rest):
    """Return E of scores: `top` are the k largest, `rest` the log-sum-exp of the others.

    The u largest have the share 1 / k, the others ``exp(s - t)``; u is the smallest number for
    which no share exceeds 1 / k. Sums grow from the small terms to the large ones, which would
    otherwise swallow them.
    """
    k = len(top)
    best = 0.0
    for u in range(k - 1, -1, -1):
        rest = add_exponents(rest, top[u])
        t = rest - math.log1p(-u / k)
        if u < k - 1 and top[u] - t > -math.log(k):
            break
        best = top[:u].sum() / k + u / k * math.log(k) + (1.0 - u / k) * t
    return best


@inlined
def add_exponents(a, b):
    """Return ``log(exp(a) + exp(b))``."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@inlined
def conjugate(x, k, r):
    """Return the conjugate, times the domain's radius `r`, at a row's variables ``x = r z``.

    Variables that leave the domain by rounding alone count as inside.

    Parameters
    ----------
    x : float64 array of any shape (m,), the nonzero variables of a row.
    """
    total = largest = entropy = 0.0
    least = math.inf
    for j in range(len(x)):
        z = x[j] / r
        total += z
        largest = max(largest, z)
        least = min(least, z)
        if z > 0.0:
            entropy -= z * math.log(z)
    if least < -1e-9 or largest > total / k + 1e-9 or total > 1.0 + 1e-9:
        return math.inf
    left = 1.0 - total
    if left > 0.0:
        entropy -= left * math.log(left)
    return -r * entropy
