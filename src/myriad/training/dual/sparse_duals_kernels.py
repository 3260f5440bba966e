"""Moving rows of sparse dual variables, and the weights that they make.

With the top-k SVM a variable x of a wrong class c of a row is ``a_c = -x`` in the row's dual
column, and the label has ``a_y = 1'x`` [TK, 3.2]. With one-vs-rest a variable belongs to its own
class alone, with the sign +1 for labels of the row and -1 for other classes. Either way ``W =
sum_i a_i x_i'``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from myriad._jit import jit
from myriad.objectives.draws import is_label


class DualTable(NamedTuple):
    """The sparse variables of all rows, in one pool.

    Attributes
    ----------
    starts : int64 array of shape (n_rows,), where each row begins in the pool.
    counts : int32 array of shape (n_rows,), how many variables each row has.
    classes, values : int32 and float64 arrays, the pool; classes ascend within a row.
    """

    starts: Any
    counts: Any
    classes: Any
    values: Any


class RowClasses(NamedTuple):
    """The labels of rows: those of row i are ``classes[starts[i]:starts[i + 1]]``.

    Attributes
    ----------
    starts : int64 array of shape (n_rows + 1,)
    classes : int32 array.
    """

    starts: Any
    classes: Any


class SparseBlock(NamedTuple):
    """Sparse numbers of a block's rows: row i has the first ``counts[i]`` entries of its row.

    Attributes
    ----------
    classes : int32 array of shape (B, n_classes), ascending within a row.
    values : float array of shape (B, n_classes), dual variables (float64), or the changes of the
        weights, as multiples of the row.
    counts : int32 array of shape (B,).
    """

    classes: Any
    values: Any
    counts: Any


@jit
def load_rows(index, table, block):
    """Copy rows of the pool into a `SparseBlock`, which is changed in place."""
    for i in range(len(index)):
        start = table.starts[index[i]]
        block.counts[i] = table.counts[index[i]]
        for m in range(block.counts[i]):
            block.classes[i, m] = table.classes[start + m]
            block.values[i, m] = table.values[start + m]


@jit
def store_rows(index, block, table, capacities, end):
    """Copy rows of a `SparseBlock` into the pool: where they were if they fit, else to its end.

    Changes `table` and `capacities`, an int32 array of shape (n_rows,), in place; returns the new
    end of the pool.
    """
    for i in range(len(index)):
        row = index[i]
        # A row that has outgrown its capacity moves to the end; the gap is closed when the pool is
        # packed again.
        if block.counts[i] > capacities[row]:
            table.starts[row], capacities[row] = end, block.counts[i]
            end += block.counts[i]
        table.counts[row] = block.counts[i]
        start = table.starts[row]
        for m in range(block.counts[i]):
            table.classes[start + m] = block.classes[i, m]
            table.values[start + m] = block.values[i, m]
    return end


@jit
def copy_rows(old, new):
    """Copy all rows of a `DualTable` to the starts that another one has for them."""
    for row in range(len(old.counts)):
        for m in range(old.counts[row]):
            new.classes[new.starts[row] + m] = old.classes[old.starts[row] + m]
            new.values[new.starts[row] + m] = old.values[old.starts[row] + m]


@jit
def add_changes(X, changes, V):
    """Add the rows of a block, times their changes, to the weights of the classes that change.

    Parameters
    ----------
    X : float array of shape (B, n_features)
    changes : `SparseBlock`.
    V : float array of shape (n_classes, n_features); changed in place.
    """
    for i in range(len(X)):
        for m in range(changes.counts[i]):
            c, a = changes.classes[i, m], changes.values[i, m]
            for j in range(X.shape[1]):
                V[c, j] += a * X[i, j]


@jit
def add_to_columns(index, changes, V):
    """Add the changes of a block's rows to the rows' own columns of `V` (n_classes, n_rows)."""
    for i in range(len(index)):
        for m in range(changes.counts[i]):
            V[changes.classes[i, m], index[i]] += changes.values[i, m]


@jit
def add_columns(X, labels, table, V, first, start_feature, end_feature):
    """Add rows, times their dual columns of the top-k SVM, to the weights of a range of features.

    Threads own a range of features each, so that every weight is one sum in the order of the rows.

    Parameters
    ----------
    X : float array of shape (m, n_features), C-contiguous; row i is number ``first + i``.
    labels : int32 array of shape (m,), the rows' classes.
    table : `DualTable` of all rows.
    V : float64 array of shape (n_classes, n_features), C-contiguous; changed in place.
    start_feature, end_feature : the first of the features, and the one after the last.
    """
    part = slice(start_feature, end_feature)
    for i in range(len(X)):
        start, x = table.starts[first + i], X[i, part]
        total = 0.0
        for m in range(start, start + table.counts[first + i]):
            total += table.values[m]
            add_times(V[table.classes[m], part], x, -table.values[m])
        if total != 0.0:  # a_y = 1'x
            add_times(V[labels[i], part], x, total)


@jit
def add_signed_columns(X, positives, table, skipped, V, first, start_feature, end_feature):
    """Add rows to the weights as `add_columns` does, with the dual columns of one-vs-rest.

    Parameters
    ----------
    positives : `RowClasses` of all rows.
    skipped : bool array of shape (n_classes,), the classes whose weights are left as they are.
    """
    part = slice(start_feature, end_feature)
    for i in range(len(X)):
        start, x = table.starts[first + i], X[i, part]
        for m in range(start, start + table.counts[first + i]):
            c = table.classes[m]
            if not skipped[c]:
                add_times(V[c, part], x, signed(positives, first + i, c, table.values[m]))


@jit
def scatter_signed_columns(positives, table, first, start_class, columns):
    """Write the dual columns of one-vs-rest of consecutive rows and classes side by side.

    Parameters
    ----------
    positives : `RowClasses` of all rows.
    first, start_class : the number of the first row and of the first class.
    columns : float64 array of shape (m, n_rows) for m classes, all zero; changed in place.
    """
    for i in range(columns.shape[1]):
        start = table.starts[first + i]
        for m in range(start, start + table.counts[first + i]):
            c = table.classes[m]
            if start_class <= c < start_class + len(columns):
                columns[c - start_class, i] = signed(positives, first + i, c, table.values[m])


@jit
def count_columns(table, counts):
    """Add to `counts` (n_classes,) how many rows have a variable of each class."""
    for i in range(len(table.counts)):
        for m in range(table.starts[i], table.starts[i] + table.counts[i]):
            counts[table.classes[m]] += 1


@jit
def signed(positives, row, c, value):
    """Return a variable of one-vs-rest with the sign of its row for its class."""
    return value if has_class(positives, row, c) else -value


@jit
def has_class(positives, row, c):
    """Return whether a row has a class among its labels."""
    return is_label(c, positives.classes[positives.starts[row] : positives.starts[row + 1]])


@jit
def add_times(w, x, a):
    """Add a row, times a number, to weights."""
    for j in range(len(x)):
        w[j] += a * x[j]


@jit
def scatter_columns(labels, table, V):
    """Write the dual columns of the top-k SVM side by side to `V` (n_classes, n_rows), all zero."""
    for i in range(len(labels)):
        for m in range(table.starts[i], table.starts[i] + table.counts[i]):
            V[table.classes[m], i] = -table.values[m]
            V[labels[i], i] += table.values[m]
