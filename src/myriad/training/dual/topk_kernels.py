"""Dual steps of the top-k SVM through a block of rows  [TK, 3.2].

Row i holds variables x, one a wrong class; its dual column is ``a_c = -x_c``, ``a_y = 1'x``, and
``W = sum_i a_i x_i'``. A step maximises the dual over the row's whole column, which is a projection
[TK, Proposition 4]. Scores within a block are corrected by the changes of the rows before, so that
they are those of plain Prox-SDCA.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.objectives.largest import RUN, count_above, select_largest
from myriad.objectives.topk import ALPHA, conjugate, value
from myriad.projections import topk_beta, topk_cone, topk_simplex

TOPK = np.dtype(
    [
        ("variant", np.int64),
        ("k", np.int64),
        ("r", np.float64),  # the radius of the row's set, 1 / (lam n)
        ("bias", np.float64),  # the value of the constant feature, 0 for none
    ]
)
SLACK = 1e-9
"""How far below a sure bound entries are still looked at, as a part: more than rounding."""
START = 15
"""How many variables above k a row may begin with: the next pass has the choice among all."""
ROUNDING, TINY = 1e-6, 1e-30
"""What a bound may lose when it is rounded to the precision of the products."""


@jit
def step_topk(gram, labels, S, classes, values, counts, changed, steps, n_changed, setting):
    """Step through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels : int32 array of shape (B,)
    S : float array of shape (B, n_classes), products of rows and weights; used up.
    classes, values, counts : the rows' variables, row i in the first ``counts[i]`` places of row i
        of an int32 and a float64 array of shape (B, n_classes); replaced by the new ones.
    changed, steps, n_changed : written in the same form: the classes whose weights change by how
        many times the row; `steps` has the precision of `S`.
    setting : record of one entry.
    """
    new_classes = np.empty(S.shape[1], np.int32)
    new_values = np.empty(S.shape[1], np.float64)
    for i in range(len(labels)):
        correct_scores(gram, changed, steps, n_changed, S, i)
        n_old = counts[i]
        old_classes, old_values = classes[i, :n_old], values[i, :n_old]
        take_out(old_classes, old_values, S[i], labels[i], gram[i, i])
        n_new = find_variables(
            old_classes, S[i], new_classes, new_values, labels[i], gram[i, i], setting
        )
        n_changed[i] = compare(
            old_classes, old_values, new_classes[:n_new], new_values[:n_new],
            changed[i], steps[i], labels[i],
        )  # fmt: skip
        counts[i] = n_new
        for m in range(n_new):
            classes[i, m] = new_classes[m]
            values[i, m] = new_values[m]


@jit
def correct_scores(gram, changed, steps, n_changed, S, i):
    """Add to the products of row `i` what the rows before it in the block have changed."""
    for j in range(i):
        g = gram[i, j]
        for m in range(n_changed[j]):
            S[i, changed[j, m]] += g * steps[j, m]


@inlined
def take_out(classes, values, q, label, square):
    """Take a row's own part out of its products."""
    total = 0.0
    for m in range(len(classes)):
        q[classes[m]] += square * values[m]
        total += values[m]
    q[label] -= square * total


@jit
def find_variables(old_classes, q, classes, values, label, square, setting):
    """Write the best variables of a row, those above zero; return how many there are.

    Parameters
    ----------
    old_classes : int32 array, the classes whose variables were above zero so far.
    q : float array of shape (n_classes,), the row's products without its own part; the truth's is
        changed.
    classes, values : int32 and float64 arrays of shape (n_classes,); the first places are written.
    square : the row's squared norm.
    """
    if square <= 0.0:
        return fill_vertex(classes, values, label, setting[0].k, setting[0].r)
    shift = 1.0 - np.float64(q[label])
    q[label] = -np.inf
    if len(old_classes) == 0:
        return begin_variables(q, classes, values, shift, square, setting)
    n = renew_variables(old_classes, q, classes, values, shift, square, setting)
    if n >= 0:
        return n
    n = gather(q, classes, values, bound_products(q, shift, square, setting))
    return solve(classes, values, n, shift, square, setting)[0]


@jit
def begin_variables(q, classes, values, shift, square, setting):
    """Write the variables of a row that had none: at most `START` more than k are above zero.

    Weights that know little yet would spread them over many classes, to no avail; the row's next
    step has the choice among all.
    """
    most = min(setting[0].k + START, len(q) - 1)
    least = max(select_largest(q, most)[most - 1], bound_products(q, shift, square, setting))
    n = keep_largest(classes, values, gather(q, classes, values, least), most)
    return solve(classes, values, n, shift, square, setting)[0]


@jit
def renew_variables(old_classes, q, classes, values, shift, square, setting):
    """Write the best variables if those above zero so far tell which others may be; else return -1.

    Among the old classes alone the threshold is hardly higher than among all, mostly lower. So
    only products above it count, few besides the old ones, often none; where the threshold among
    these is not lower still, no other product would have counted.
    """
    k, n = setting[0].k, len(old_classes)
    for m in range(n):
        classes[m], values[m] = old_classes[m], q[old_classes[m]]
    if n < k:
        return -1
    n, least = solve(classes, values, n, shift, square, setting)
    if n == 0:
        return -1
    bound = least - SLACK * (abs(least) + abs(shift) + square)
    if count_from(q, bound) == n:
        return n
    n = gather(q, classes, values, bound)
    if n < k:
        return -1
    n, least = solve(classes, values, n, shift, square, setting)
    return n if least >= bound else -1


@jit
def bound_products(q, shift, square, setting):
    """Return the product from which on variables may be above zero; infinity if none can."""
    k, r = setting[0].k, setting[0].r
    top = select_largest(q, k)
    first, last = (top[0] + shift) / square, (top[k - 1] + shift) / square
    if setting[0].variant == ALPHA:
        if top.sum() + k * shift <= 0.0:
            return np.inf
        bound = topk_cone.bound_threshold(first, last, k, 1.0, r)
    else:
        if first <= 0.0:
            return np.inf
        bound = topk_beta.bound_threshold(last, k, r)
    return (bound - SLACK * (abs(bound) + abs(first))) * square - shift


@jit
def solve(classes, values, n, shift, square, setting):
    """Turn the first `n` products into the best variables; return how many are above zero.

    Returns as well the product at the threshold: what is below it would not have counted.
    """
    k, r = setting[0].k, setting[0].r
    if n == 0:
        return 0, np.inf
    for m in range(n):
        values[m] = (values[m] + shift) / square
    if setting[0].variant == ALPHA:
        origin, t, u = topk_simplex.find_thresholds(values[:n], k, 1.0, r)
    else:
        origin, t, u = topk_beta.find_thresholds(values[:n], k, 1.0, r)
    if u == 0.0:
        return 0, np.inf
    kept = 0
    for m in range(n):
        x = min((values[m] - origin) - t, u)
        if x > 0.0:
            classes[kept], values[kept] = classes[m], x
            kept += 1
    return kept, (origin + t) * square - shift


@jit
def keep_largest(classes, values, n, most):
    """Keep the largest of the first `n` products, ties going to the lowest class; return how many.

    At most `most` are kept, in the order that they have.
    """
    if n <= most:
        return n
    least = select_largest(values[:n], most)[most - 1]
    spare = most
    for m in range(n):
        spare -= values[m] > least
    kept = 0
    for m in range(n):
        if values[m] > least or (values[m] == least and spare > 0):
            spare -= values[m] == least
            classes[kept], values[kept] = classes[m], values[m]
            kept += 1
    return kept


@inlined
def fill_vertex(classes, values, label, k, r):
    """Write a row of zero norm: its dual is linear, any k wrong classes at their bound are best."""
    n = 0
    for c in range(k + 1):
        if c != label and n < k:
            classes[n], values[n] = c, r / k
            n += 1
    return n


@jit
def gather(q, classes, values, bound):
    """Write the classes whose product is `bound` or more and their products; return how many.

    A few that are a bit below it may be among them.
    """
    n, least = 0, q.dtype.type(bound - ROUNDING * abs(bound) - TINY)
    for start in range(0, len(q), RUN):
        stop = min(start + RUN, len(q))
        if count_above(q, start, stop, least) == 0:
            continue
        for c in range(start, stop):  # without a branch, which would be guessed wrong too often
            classes[n], values[n] = c, q[c]
            n += q[c] > least
    return n


@jit
def count_from(q, bound):
    """Return how many classes `gather` would write."""
    return count_above(q, 0, len(q), q.dtype.type(bound - ROUNDING * abs(bound) - TINY))


@jit
def compare(old_classes, old_values, new_classes, new_values, changed, steps, label):
    """Write by how much each class's weights change, as times the row; return how many do.

    Both lists ascend in class. A wrong class's dual is minus its variable, the truth's their sum.
    """
    n = i = j = 0
    while i < len(old_classes) or j < len(new_classes):
        if j == len(new_classes) or (i < len(old_classes) and old_classes[i] < new_classes[j]):
            c, step = old_classes[i], old_values[i]
            i += 1
        elif i == len(old_classes) or new_classes[j] < old_classes[i]:
            c, step = new_classes[j], -new_values[j]
            j += 1
        else:
            c, step = new_classes[j], old_values[i] - new_values[j]
            i += 1
            j += 1
        if step != 0.0:
            changed[n], steps[n] = c, step
            n += 1
    total = new_values.sum() - old_values.sum()
    if n > 0 and total != 0.0:
        changed[n], steps[n] = label, total
        n += 1
    return n


@jit
def sum_conjugates(starts, counts, values, setting):
    """Return the sum of the conjugates of all rows; infinite if one is outside its domain."""
    total = 0.0
    for i in range(len(starts)):
        x = values[starts[i] : starts[i] + counts[i]]
        total += conjugate(x, setting[0].k, setting[0].variant, setting[0].r)
    return total


@jit
def dot_columns(S, labels, starts, counts, classes, values, first):
    """Return the sum of the products of the rows' dual columns with their scores.

    Over all rows this is the squared norm of the weights. `S` and `labels` are of rows from number
    `first` on.
    """
    total = 0.0
    for i in range(len(labels)):
        start = starts[first + i]
        for m in range(start, start + counts[first + i]):
            total += values[m] * (S[i, labels[i]] - S[i, classes[m]])
    return total


@jit
def tally_gap(S, labels, classes, values, counts, tally, setting, first, every):
    """Add to `tally` what estimates the gap: of one row in so many, at their scores.

    Losses, products of the dual columns with the scores, variables, and the number of rows.
    """
    for i in range(first, len(labels), every):
        tally[0] += value(S[i], labels[i], setting[0].k, setting[0].variant)
        for m in range(counts[i]):
            tally[1] += values[i, m] * (S[i, labels[i]] - S[i, classes[i, m]])
            tally[2] += values[i, m]
        tally[3] += 1.0
