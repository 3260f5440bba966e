"""The kernel of class means: rows added to the sums of their classes."""

from __future__ import annotations

from myriad._jit import jit


@jit
def add_rows(X, starts, classes, weights, sums):
    """Add every row to the sum of each of its classes, in the order of the rows.

    Features are independent of each other, so a range of them may be added by any thread.

    Parameters
    ----------
    X : float array of shape (m, n_features)
    starts, classes : int64 (m + 1,) and int32, the classes of each row, see `LabelSets`.
    weights : float64 array of shape (m,), how much each row counts.
    sums : float64 array of shape (n_classes, n_features); changed.
    """
    for i in range(X.shape[0]):
        for place in range(starts[i], starts[i + 1]):
            c = classes[place]
            for j in range(X.shape[1]):
                sums[c, j] += weights[i] * X[i, j]
