"""Moving rows of sparse dual variables, and the weights that they make.

A variable x of a wrong class of a row is ``-x`` in the row's dual column, and its truth has the sum
of all; with one-vs-rest a variable stands for its own class alone, with the sign of the row there.
"""

from __future__ import annotations

from myriad._jit import inlined, jit


@jit
def load_rows(index, starts, held, pool_classes, pool_values, classes, values, counts):
    """Copy rows of the pool to the beginnings of the rows of `classes` and `values`."""
    for i in range(len(index)):
        start = starts[index[i]]
        counts[i] = held[index[i]]
        for m in range(counts[i]):
            classes[i, m] = pool_classes[start + m]
            values[i, m] = pool_values[start + m]


@jit
def store_rows(index, classes, values, counts, table, pool_classes, pool_values, end):
    """Copy rows into the pool: to their places where they fit, else to its end.

    Changes `table` (starts, counts and rooms of all rows) and the pool; returns its new end.
    """
    starts, held, rooms = table
    for i in range(len(index)):
        row = index[i]
        if counts[i] > rooms[row]:
            starts[row], rooms[row] = end, counts[i]
            end += counts[i]
        held[row] = counts[i]
        for m in range(counts[i]):
            pool_classes[starts[row] + m] = classes[i, m]
            pool_values[starts[row] + m] = values[i, m]
    return end


@jit
def copy_rows(old_starts, counts, starts, old_classes, old_values, classes, values):
    """Copy all rows of a pool into another."""
    for row in range(len(counts)):
        for m in range(counts[row]):
            classes[starts[row] + m] = old_classes[old_starts[row] + m]
            values[starts[row] + m] = old_values[old_starts[row] + m]


@jit
def add_changes(X, changed, steps, n_changed, V):
    """Add the rows of a block, times their steps, to the weights of the classes that change."""
    for i in range(len(X)):
        for m in range(n_changed[i]):
            c, a = changed[i, m], steps[i, m]
            for j in range(X.shape[1]):
                V[c, j] += a * X[i, j]


@jit
def add_to_columns(index, changed, steps, n_changed, V):
    """Add the steps of a block's rows to the rows' own columns of `V`."""
    for i in range(len(index)):
        for m in range(n_changed[i]):
            V[changed[i, m], index[i]] += steps[i, m]


@jit
def add_columns(X, labels, table, V, first, features):
    """Add rows, times their dual columns, to the weights of some features.

    Parameters
    ----------
    X : float array of shape (m, n_features), C-contiguous; row i is number ``first + i``.
    labels : int32 array of shape (m,), the rows' classes.
    table : starts, counts, classes and values of all variables.
    V : float64 array of shape (n_classes, n_features), C-contiguous; changed.
    features : the first of them, and the one after the last.
    """
    starts, counts, classes, values = table
    part = slice(features[0], features[1])
    for i in range(len(X)):
        start, x = starts[first + i], X[i, part]
        total = 0.0
        for m in range(start, start + counts[first + i]):
            total += values[m]
            add_times(V[classes[m], part], x, -values[m])
        if total != 0.0:
            add_times(V[labels[i], part], x, total)


@jit
def add_signed_columns(X, labels, table, V, first, features):
    """Add rows to the weights as `add_columns` does, a variable standing for its own class."""
    starts, counts, classes, values = table
    part = slice(features[0], features[1])
    for i in range(len(X)):
        start, x = starts[first + i], X[i, part]
        for m in range(start, start + counts[first + i]):
            c = classes[m]
            add_times(V[c, part], x, values[m] if c == labels[i] else -values[m])


@inlined
def add_times(w, x, a):
    """Add a row, times a number, to weights."""
    for j in range(len(x)):
        w[j] += a * x[j]


@jit
def spread_columns(labels, starts, counts, classes, values, V):
    """Write the dual columns, side by side, to `V` (n_classes, n_rows), which is zero."""
    for i in range(len(labels)):
        for m in range(starts[i], starts[i] + counts[i]):
            V[classes[m], i] = -values[m]
            V[labels[i], i] += values[m]
