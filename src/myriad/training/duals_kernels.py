"""Moving rows of sparse dual variables, and the weights that they make.

A variable x of a wrong class of a row is ``-x`` in the row's dual column, and its truth has the sum
of all; with one-vs-rest a variable stands for its own class alone, with the sign of the row there.
"""

from __future__ import annotations

from myriad._jit import jit


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
def add_columns(X, labels, starts, counts, classes, values, V, first):
    """Add rows, times their dual columns, to the weights; row i of `X` is number ``first + i``."""
    for i in range(len(X)):
        start = starts[first + i]
        total = 0.0
        for m in range(start, start + counts[first + i]):
            c, a = classes[m], values[m]
            total += a
            for j in range(X.shape[1]):
                V[c, j] -= a * X[i, j]
        if total != 0.0:
            for j in range(X.shape[1]):
                V[labels[i], j] += total * X[i, j]


@jit
def add_signed_columns(X, labels, starts, counts, classes, values, V, first):
    """Add rows to the weights as `add_columns` does, a variable standing for its own class."""
    for i in range(len(X)):
        start = starts[first + i]
        for m in range(start, start + counts[first + i]):
            c = classes[m]
            a = values[m] if c == labels[i] else -values[m]
            for j in range(X.shape[1]):
                V[c, j] += a * X[i, j]


@jit
def spread_columns(labels, starts, counts, classes, values, V):
    """Write the dual columns, side by side, to `V` (n_classes, n_rows), which is zero."""
    for i in range(len(labels)):
        for m in range(starts[i], starts[i] + counts[i]):
            V[classes[m], i] = -values[m]
            V[labels[i], i] += values[m]
