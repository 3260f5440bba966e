"""Dual steps of the top-k SVM through a block of rows  [TK, 3.2].

Row i has variables x, one per wrong class; its dual column is ``a_c = -x_c``, ``a_y = 1'x``, and
``W = sum_i a_i x_i'``. A step maximises the dual over the row's whole column, which is a projection
[TK, Proposition 4]: with ``q = W x_i - |x_i|^2 a_i``, the products without the row's own part, the
new x minimises ``|b - x|^2 + (1'x)^2`` over the loss's set of radius ``r = 1 / (lam n)``, where ``b
= (q_c + 1 - q_y) / |x_i|^2`` for the wrong classes c. Scores within a block are corrected by the
changes of the rows before, so that they are those of plain Prox-SDCA.

Where the loss is smoothed, ``gamma / (2 r) |x|^2`` is added to the problem of a row [LHS]: with
``size = |x_i|^2 + gamma / r`` and ``rho = |x_i|^2 / size`` the new x minimises ``|b - x|^2 + rho
(1'x)^2``, where ``b = (q_c + 1 - q_y) / size``. Below, `square` and `size` are these two.

Most of x is zero. The kernels work on the products q_c above a bound below which no variable can be
positive, and never form b for all classes.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, jit
from myriad.largest import STRIP, count_above, select_largest
from myriad.objectives.topk import ALPHA
from myriad.projections import topk_beta, topk_cone, topk_simplex

TOPK = np.dtype(
    [
        ("variant", np.int64),
        ("k", np.int64),
        ("r", np.float64),  # the radius of the row's set, 1 / (lam n)
        ("bias", np.float64),  # the value of the constant feature, 0 for none
        ("gamma", np.float64),  # smoothing of the loss, 0 for none
    ]
)
SLACK = 1e-9
"""Relative tolerance below a bound within which products are still considered: above rounding."""
START = 15
"""A row has at most this many more than k variables after its first step; later steps consider all
classes."""
ROUNDING, TINY = 1e-6, 1e-30
"""Relative and absolute error of a bound that is rounded to the precision of the products."""


@jit
def step_topk(gram, labels, S, variables, changes, setting):
    """Step through a block whose products with the weights are known.

    Parameters
    ----------
    gram : float array of shape (B, B)
    labels : int32 array of shape (B,)
    S : float array of shape (B, n_classes), products of rows and weights; overwritten.
    variables : `SparseBlock`, the rows' variables; replaced by the new ones.
    changes : `SparseBlock`, set to the classes whose weights change, and by which multiple of the
        row; its values have the precision of `S`.
    setting : array of `TOPK` of one entry.
    """
    new_classes = np.empty(S.shape[1], np.int32)
    new_values = np.empty(S.shape[1], np.float64)
    for i in range(len(labels)):
        # S_i becomes W x_i with the current W, then q; the new x follows from q alone.
        correct_scores(gram, changes, S, i)
        n_old = variables.counts[i]
        old_classes, old_values = variables.classes[i, :n_old], variables.values[i, :n_old]
        remove_own_part(old_classes, old_values, S[i], labels[i], gram[i, i])
        n_new = find_variables(
            old_classes, S[i], new_classes, new_values, labels[i], gram[i, i], setting
        )
        changes.counts[i] = find_changes(
            old_classes, old_values, new_classes[:n_new], new_values[:n_new],
            changes.classes[i], changes.values[i], labels[i],
        )  # fmt: skip
        variables.counts[i] = n_new
        for m in range(n_new):
            variables.classes[i, m] = new_classes[m]
            variables.values[i, m] = new_values[m]


@jit
def correct_scores(gram, changes, S, i):
    """Correct the products of row `i` for the changes of the rows before it in the block."""
    # s_i = S_i + sum_{j<i} G_ij A_j, with the sparse rows A_j of `changes`.
    for j in range(i):
        g = gram[i, j]
        for m in range(changes.counts[j]):
            S[i, changes.classes[j, m]] += g * changes.values[j, m]


@inlined
def smoothed_size(square, setting):
    """Return ``size`` and ``rho`` of a row's problem, see above, given its squared norm."""
    size = square + setting[0].gamma / setting[0].r
    return size, square / size


@inlined
def remove_own_part(classes, values, q, label, square):
    """Subtract the row's own contribution from `q`, in place: ``q = W x_i - |x_i|^2 a_i``."""
    total = 0.0
    for m in range(len(classes)):
        q[classes[m]] += square * values[m]
        total += values[m]
    q[label] -= square * total


@jit
def find_variables(old_classes, q, classes, values, label, square, setting):
    """Write the positive variables of the solution of a row's problem; return their number.

    Parameters
    ----------
    old_classes : int32 array, the classes whose variables were above zero so far.
    q : float array of shape (n_classes,), the row's products without its own part; the label's is
        overwritten.
    classes, values : int32 and float64 arrays of shape (n_classes,); the first entries are written.
    square : the row's squared norm.
    """
    size, rho = smoothed_size(square, setting)
    if size <= 0.0:
        return fill_vertex(classes, values, label, setting[0].k, setting[0].r)
    # b = (q + shift) / size; minus infinity keeps the label out of every search below.
    shift = 1.0 - np.float64(q[label])
    q[label] = -np.inf
    if len(old_classes) == 0:
        return init_variables(q, classes, values, shift, size, rho, setting)
    n = update_variables(old_classes, q, classes, values, shift, size, rho, setting)
    if n >= 0:
        return n
    # The old variables did not suffice: consider all products above a bound that always holds.
    n = gather(q, classes, values, bound_products(q, shift, size, rho, setting))
    return solve(classes, values, n, shift, size, rho, setting)[0]


@jit
def init_variables(q, classes, values, shift, size, rho, setting):
    """Write the variables of a row that had none: at most ``k + START`` are positive.

    With weights that have hardly been trained, the exact solution would have many small variables
    that later steps remove again.
    """
    most = min(setting[0].k + START, len(q) - 1)
    least = max(select_largest(q, most)[most - 1], bound_products(q, shift, size, rho, setting))
    n = keep_largest(classes, values, gather(q, classes, values, least), most)
    return solve(classes, values, n, shift, size, rho, setting)[0]


@jit
def update_variables(old_classes, q, classes, values, shift, size, rho, setting):
    """Write the solution and return its size, if it can be found from the old support; else -1.

    The problem is first solved over the old classes alone. Its threshold is close to the one over
    all classes, and mostly below it. So it is solved again over all products above that threshold,
    few or none besides the old ones; unless the new threshold is lower still, no other product can
    be part of the solution.
    """
    k, n = setting[0].k, len(old_classes)
    for m in range(n):
        classes[m], values[m] = old_classes[m], q[old_classes[m]]
    if n < k:  # the set of the k largest needs k entries
        return -1
    n, least = solve(classes, values, n, shift, size, rho, setting)
    if n == 0:
        return -1
    # No other product is above the threshold: this is the solution over all classes.
    bound = least - SLACK * (abs(least) + abs(shift) + size)
    if count_at_least(q, bound) == n:
        return n
    n = gather(q, classes, values, bound)
    if n < k:
        return -1
    n, least = solve(classes, values, n, shift, size, rho, setting)
    return n if least >= bound else -1


@jit
def bound_products(q, shift, size, rho, setting):
    """Return a lower bound of the products of positive variables; infinity if there are none."""
    k, r = setting[0].k, setting[0].r
    # Bounds of t in units of b, from its largest and its k-th largest entry; see `projections`.
    top = select_largest(q, k)
    first, last = (top[0] + shift) / size, (top[k - 1] + shift) / size
    if setting[0].variant == ALPHA:
        if top.sum() + k * shift <= 0.0:
            return np.inf
        bound = topk_cone.bound_threshold(first, last, k, rho, r)
    else:
        if first <= 0.0:
            return np.inf
        bound = topk_beta.bound_threshold(last, k, r)
    return (bound - SLACK * (abs(bound) + abs(first))) * size - shift


@jit
def solve(classes, values, n, shift, size, rho, setting):
    """Replace the first `n` products by the positive variables of the solution over them.

    Returns
    -------
    The number of positive variables, and the product at the threshold: smaller products have no
    influence on the solution.
    """
    k, r = setting[0].k, setting[0].r
    if n == 0:
        return 0, np.inf
    for m in range(n):
        values[m] = (values[m] + shift) / size
    if setting[0].variant == ALPHA:
        origin, t, u = topk_simplex.find_thresholds(values[:n], k, rho, r)
    else:
        origin, t, u = topk_beta.find_thresholds(values[:n], k, rho, r)
    if u == 0.0:
        return 0, np.inf
    # x = min(max(0, b - t), u), compacted in place: `kept` never overtakes m.
    kept = 0
    for m in range(n):
        x = min((values[m] - origin) - t, u)
        if x > 0.0:
            classes[kept], values[kept] = classes[m], x
            kept += 1
    return kept, (origin + t) * size - shift


@jit
def keep_largest(classes, values, n, most):
    """Keep the `most` largest of the first `n` products, in place; return the number kept.

    Ties go to the lowest class; the order does not change.
    """
    if n <= most:
        return n
    least = select_largest(values[:n], most)[most - 1]
    spare = most  # how many of the products equal to the smallest are kept
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
    """Write the variables of a row of zero norm: any k wrong classes at their upper bound.

    Its dual is linear, and so largest at a vertex of the feasible set. The weights do not change,
    but without these variables the gap would not close.
    """
    n = 0
    for c in range(k + 1):
        if c != label and n < k:
            classes[n], values[n] = c, r / k
            n += 1
    return n


@jit
def gather(q, classes, values, bound):
    """Write the classes whose product is at least `bound`, and their products; return their number.

    A few products slightly below the bound may be among them.
    """
    # The bound is rounded down to the precision of q, so that no product equal to it is lost.
    n, least = 0, q.dtype.type(bound - ROUNDING * abs(bound) - TINY)
    for start in range(0, len(q), STRIP):
        stop = min(start + STRIP, len(q))
        if count_above(q, start, stop, least) == 0:
            continue
        for c in range(start, stop):  # no branch: the processor would mispredict it too often
            classes[n], values[n] = c, q[c]
            n += q[c] > least
    return n


@jit
def count_at_least(q, bound):
    """Return the number of classes that `gather` would write."""
    return count_above(q, 0, len(q), q.dtype.type(bound - ROUNDING * abs(bound) - TINY))


@jit
def find_changes(old_classes, old_values, new_classes, new_values, changed, steps, label):
    """Write the changes of the dual column of a row, in `changed` and `steps`; return their number.

    The entry of a wrong class is minus its variable, that of the label the sum of the variables.
    """
    n = i = j = 0
    # A merge of two lists that ascend in class: a class is in the old one, the new one, or both.
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
    # a_y = 1'x changes by the difference of the sums.
    total = new_values.sum() - old_values.sum()
    if n > 0 and total != 0.0:
        changed[n], steps[n] = label, total
        n += 1
    return n
